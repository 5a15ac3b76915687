say() { sed 's/^/vm: | /'; }
echo "vm: == check user"; as_user $SH "agent6 check sandbox" 2>&1 | say
echo "vm: == check root"; (cd /home/user/w; AGENT6_ALLOW_ROOT=1 agent6 check sandbox 2>&1 | say)
echo "vm: == demo user"; as_user $SH "agent6 demo" 2>&1 | say
mkdir -p /srv/d; cd /srv/d; echo "vm: == demo root";  AGENT6_ALLOW_ROOT=1 agent6 demo  2>&1 | say
printf '[sandbox]\nprofile = "hardened"\n' >/tmp/hardened.toml; chmod 644 /tmp/hardened.toml
echo "vm: == hardened";  as_user $SH "agent6 exec --config /tmp/hardened.toml -- true" 2>&1 | say
echo "vm: == jail";  as_user $SH "agent6-jail" <<E 2>&1 | say
{"profile":"hardened","cwd":"/home/user/w","argv":["id"]}
E
as_user $SH "agent6-jail" <<E 2>&1 | say
{"profile":"strict","cwd":"/home/user/w","argv":["id"],"env":[["PATH","/usr/bin"]]}
E
for d in /home/user/w /srv/w; do mkdir -p $d; 
echo '{"profile":"strict","cwd":"'$d'","argv":["sh","-c","id; touch x; ls -ln x"],"env":[["PATH","/usr/bin"]]}' | agent6-jail 2>&1 | say; ls -ln $d | say; done
for u in cell_ zygote_ once_ probe_ jail_ seccomp_ confine_ guard_ group_ policy_ gitwatch_ newgit_ toolpath_; do echo "vm: == user $u"; su user -c "cd /tmp && timeout 100 unit $u" 2>&1 | grep -v "  OK \] \|RUN  " | tail -30 | say; done
for u in cell_ zygote_ once_ probe_ jail_ seccomp_ confine_ guard_ group_ policy_ gitwatch_ newgit_ toolpath_; do echo "vm: == root $u"; (cd /tmp && timeout 100 unit $u) 2>&1 | grep -v "  OK \] \|RUN  " | tail -30 | say; done
