/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "net/transfer.h"

#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#define CONNECTIONS_MAX 16L
#define CURLE_TOO_LARGE_NR ((CURLcode)100) /* CURLE_TOO_LARGE, from 8.6 on */
#define KEEP_IDLE_S     240L /* a model's long command between two turns costs no new handshake */

struct transfers {
	CURLM *multi;
	struct loop *loop; /* borrowed */
};

struct transfer {
	struct transfers *all;
	CURL *easy;
	struct transfer_spec spec;
	char error[CURL_ERROR_SIZE];
};

/* What the loop hands back for one of libcurl's sockets. */
struct watched {
	struct transfers *all;
	curl_socket_t fd;
};

static const struct {
	CURLcode code;
	enum net_outcome outcome;
	const char *says; /* in front of libcurl's own words */
} outcomes[] = {
	{ CURLE_OK, NET_OK, "" },
	{ CURLE_COULDNT_RESOLVE_HOST, NET_DNS, "the name cannot be resolved" },
	{ CURLE_COULDNT_RESOLVE_PROXY, NET_DNS, "the proxy's name cannot be resolved" },
	{ CURLE_COULDNT_CONNECT, NET_CONNECT, "cannot connect" },
	{ CURLE_OPERATION_TIMEDOUT, NET_TIMEOUT, "no connection in time" },
	{ CURLE_PEER_FAILED_VERIFICATION, NET_UNTRUSTED, "the server's certificate is not accepted" },
	{ CURLE_SSL_CONNECT_ERROR, NET_TLS, "the TLS handshake failed" },
	{ CURLE_SSL_CERTPROBLEM, NET_UNTRUSTED, "TLS certificate problem" },
	{ CURLE_SSL_CIPHER, NET_TLS, "no common TLS cipher" },
	{ CURLE_SSL_ISSUER_ERROR, NET_UNTRUSTED, "TLS issuer problem" },
	{ CURLE_USE_SSL_FAILED, NET_TLS, "TLS is not possible" },
	{ CURLE_GOT_NOTHING, NET_RESET, "the server closed the connection without an answer" },
	{ CURLE_SEND_ERROR, NET_RESET, "the connection broke while sending" },
	{ CURLE_RECV_ERROR, NET_RESET, "the connection broke while receiving" },
	{ CURLE_PARTIAL_FILE, NET_RESET, "the answer ended too early" },
	{ CURLE_HTTP2, NET_RESET, "the connection broke (HTTP/2)" },
	{ CURLE_HTTP2_STREAM, NET_RESET, "the stream was ended by the server (HTTP/2)" },
	{ CURLE_BAD_CONTENT_ENCODING, NET_LIMIT, "the answer has a Transfer-Encoding that nobody asked for" },
	{ CURLE_OUT_OF_MEMORY, NET_LIMIT, "a header line is too long" }, /* so 7.88 says; a later one: */
	{ CURLE_TOO_LARGE_NR, NET_LIMIT, "a header line is too long" },
	{ CURLE_FILESIZE_EXCEEDED, NET_LIMIT, "the answer is too large" },
	{ CURLE_WEIRD_SERVER_REPLY, NET_OTHER, "the server does not speak HTTP" },
	{ CURLE_BAD_FUNCTION_ARGUMENT, NET_OTHER, "the server does not speak HTTP" }, /* of a trailer */
	{ CURLE_UNSUPPORTED_PROTOCOL, NET_OTHER, "the server does not speak HTTP" },
};

/* --- libcurl's callbacks --- */

static size_t on_header(char *p, size_t one, size_t n, void *self)
{
	struct transfer *x = self;

	return x->spec.on_line(x->spec.self, str_of(p, one * n)) < 0 ? 0 : one * n;
}

static size_t on_write(char *p, size_t one, size_t n, void *self)
{
	struct transfer *x = self;

	switch (x->spec.on_body(x->spec.self, str_of(p, one * n))) {
	case TRANSFER_TAKEN:
		return one * n;
	case TRANSFER_LATER:
		return CURL_WRITEFUNC_PAUSE;
	case TRANSFER_STOP:
		break;
	}
	return one * n == 0 ? 1 : 0; /* any other number than n stops it */
}

static CURLcode on_tls(CURL *easy, void *ctx, void *self)
{
	struct transfer *x = self;

	(void)easy;
	return castore_use(ctx, x->spec.ca) < 0 ? CURLE_SSL_CONNECT_ERROR : CURLE_OK;
}

static void release(struct transfer *x)
{
	curl_multi_remove_handle(x->all->multi, x->easy);
	curl_easy_cleanup(x->easy);
	free(x);
}

static void finish(struct transfer *x, CURLcode code)
{
	struct transfer_spec spec = x->spec;
	enum net_outcome outcome = NET_OTHER;
	const char *says = curl_easy_strerror(code), *more = x->error;
	char text[CURL_ERROR_SIZE + 512];

	for (size_t i = 0; i < COUNT(outcomes); i++)
		if (outcomes[i].code == code) {
			outcome = outcomes[i].outcome;
			says = outcomes[i].says;
		}
	text[0] = '\0';
	if (code != CURLE_OK)
		snprintf(text, sizeof(text), "%s: %s%s%s%s", spec.host, says, *more ? " (" : "", more, *more ? ")" : "");
	release(x);
	spec.on_done(spec.self, outcome, text);
}

static void read_ends(struct transfers *t)
{
	CURLMsg *m;
	int left;

	while ((m = curl_multi_info_read(t->multi, &left))) {
		struct transfer *x = NULL;
		CURLcode code = m->data.result; /* m dies with the handle */

		if (m->msg == CURLMSG_DONE && curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, &x) == CURLE_OK)
			finish(x, code);
	}
}

static int on_socket(void *self, uint32_t events, struct err *err)
{
	struct watched w = *(struct watched *)self; /* libcurl may give the socket up and free it */
	int what = (events & (EPOLLIN | EPOLLHUP) ? CURL_CSELECT_IN : 0) |
		   (events & EPOLLOUT ? CURL_CSELECT_OUT : 0) | (events & EPOLLERR ? CURL_CSELECT_ERR : 0);
	int running;

	(void)err;
	curl_multi_socket_action(w.all->multi, w.fd, what, &running);
	read_ends(w.all);
	return 0;
}

static int on_timer(void *self, uint32_t events, struct err *err)
{
	struct transfers *t = self;
	int running;

	(void)events;
	(void)err;
	curl_multi_socket_action(t->multi, CURL_SOCKET_TIMEOUT, 0, &running);
	read_ends(t);
	return 0;
}

static int want_socket(CURL *easy, curl_socket_t fd, int what, void *self, void *mine)
{
	struct transfers *t = self;
	struct watched *w = mine;
	uint32_t events = (what & CURL_POLL_IN ? EPOLLIN : 0) | (what & CURL_POLL_OUT ? EPOLLOUT : 0);

	(void)easy;
	loop_unwatch(t->loop, fd);
	if (what == CURL_POLL_REMOVE) {
		free(w);
		curl_multi_assign(t->multi, fd, NULL);
		return 0;
	}
	if (!w) {
		w = mem_alloc(sizeof(*w));
		*w = (struct watched){ t, fd };
		curl_multi_assign(t->multi, fd, w);
	}
	return loop_watch(t->loop, fd, events, on_socket, w, ERR_DISCARD) < 0 ? -1 : 0;
}

static int want_timer(CURLM *multi, long ms, void *self)
{
	struct transfers *t = self;

	(void)multi;
	if (ms >= 0)
		return loop_after(t->loop, ms, on_timer, t, ERR_DISCARD) < 0 ? -1 : 0;
	loop_cancel(t->loop, on_timer, t);
	return 0;
}

/* --- the door --- */

int transfers_prepare(struct err *err)
{
	if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
		return err_set(err, ERR_UNSUPPORTED, "libcurl does not start");
	return 0;
}

int transfers_open(struct loop *loop, struct transfers **out, struct err *err)
{
	struct transfers *t;

	TRY(transfers_prepare(err));
	t = mem_alloc(sizeof(*t));
	t->loop = loop;
	t->multi = curl_multi_init();
	BUG_IF(!t->multi);
	if (curl_multi_setopt(t->multi, CURLMOPT_SOCKETFUNCTION, want_socket) != CURLM_OK ||
		curl_multi_setopt(t->multi, CURLMOPT_SOCKETDATA, t) != CURLM_OK ||
		curl_multi_setopt(t->multi, CURLMOPT_TIMERFUNCTION, want_timer) != CURLM_OK ||
		curl_multi_setopt(t->multi, CURLMOPT_TIMERDATA, t) != CURLM_OK ||
		curl_multi_setopt(t->multi, CURLMOPT_MAXCONNECTS, CONNECTIONS_MAX) != CURLM_OK) {
		transfers_close(t);
		return err_set(err, ERR_UNSUPPORTED, "this libcurl lacks an option we need");
	}
	*out = t;
	return 0;
}

void transfers_close(struct transfers *t)
{
	if (!t)
		return;
	loop_cancel(t->loop, on_timer, t);
	curl_multi_cleanup(t->multi);
	free(t);
}

/* The broker's end is at the broker already. */
static curl_socket_t open_socket(void *self, curlsocktype purpose, struct curl_sockaddr *address)
{
	struct transfer *x = self;
	int fd = x->spec.dial(x->spec.self);

	(void)purpose;
	(void)address;
	return fd < 0 ? CURL_SOCKET_BAD : fd;
}

static int is_connected(void *self, curl_socket_t fd, curlsocktype purpose)
{
	(void)self;
	(void)fd;
	(void)purpose;
	return CURL_SOCKOPT_ALREADY_CONNECTED;
}

/* libcurl before 8 uses a connection again only if its other end has a name, and an end of a pair has none. Whoever wants one
 * makes it in a directory or asks the kernel for it; so libcurl, which calls what this program calls so, is told one that nobody has. */
__attribute__((visibility("default"))) int getpeername(int fd, struct sockaddr *out, socklen_t *n)
{
	const struct sockaddr_un told = { .sun_family = AF_UNIX, .sun_path = "broker" };
	socklen_t room = *n;

	if (syscall(SYS_getpeername, fd, out, n) < 0)
		return -1;
	if (out->sa_family == AF_UNIX && *n == sizeof(told.sun_family) && room >= sizeof(told)) {
		memcpy(out, &told, sizeof(told));
		*n = sizeof(told);
	}
	return 0;
}

/* Text and number options, so that a forgotten result cannot be a silent downgrade. */
static bool set_options(struct transfer *x)
{
	const struct transfer_spec *s = &x->spec;
	bool direct = !s->by_broker;
	CURL *e = x->easy;
	CURLcode r = CURLE_OK;

#define OPT(option, value) (r = r != CURLE_OK ? r : curl_easy_setopt(e, (option), (value)))
	OPT(CURLOPT_URL, s->url);
	OPT(CURLOPT_PRIVATE, x);
	OPT(CURLOPT_ERRORBUFFER, x->error);
	OPT(CURLOPT_UNIX_SOCKET_PATH, s->by_broker); /* so that no name is looked up: nothing is ever connected to it */
	OPT(CURLOPT_OPENSOCKETFUNCTION, direct ? NULL : open_socket);
	OPT(CURLOPT_OPENSOCKETDATA, x);
	OPT(CURLOPT_SOCKOPTFUNCTION, direct ? NULL : is_connected);
	OPT(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L); /* a proxy's word is no answer */
	OPT(CURLOPT_PROXY, direct && s->proxy ? s->proxy : "");
	OPT(CURLOPT_NOPROXY, direct && s->proxy ? s->no_proxy : "*");
	OPT(CURLOPT_PROTOCOLS_STR, s->ca ? "https" : "http");
	OPT(CURLOPT_FOLLOWLOCATION, 0L);
	OPT(CURLOPT_PATH_AS_IS, 1L);
	OPT(CURLOPT_NOSIGNAL, 1L);
	OPT(CURLOPT_CONNECTTIMEOUT_MS, (long)s->connect_ms);
	OPT(CURLOPT_MAXAGE_CONN, KEEP_IDLE_S);
	OPT(CURLOPT_HTTP_VERSION, s->ca ? (long)CURL_HTTP_VERSION_2TLS : (long)CURL_HTTP_VERSION_1_1);
	OPT(CURLOPT_HTTP09_ALLOWED, 0L);
	OPT(CURLOPT_USERAGENT, "agent6/" AGENT6_VERSION);
	OPT(CURLOPT_HTTPHEADER, s->headers);
	OPT(CURLOPT_HEADERFUNCTION, on_header);
	OPT(CURLOPT_HEADERDATA, x);
	OPT(CURLOPT_WRITEFUNCTION, on_write);
	OPT(CURLOPT_WRITEDATA, x);
	OPT(CURLOPT_CAPATH, NULL);
	OPT(CURLOPT_CAINFO, NULL);
	OPT(CURLOPT_SSL_VERIFYPEER, 1L);
	OPT(CURLOPT_SSL_VERIFYHOST, 2L);
	OPT(CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
	if (s->ca) {
		OPT(CURLOPT_SSL_CTX_FUNCTION, on_tls);
		OPT(CURLOPT_SSL_CTX_DATA, x);
	}
	if (s->post) {
		OPT(CURLOPT_POST, 1L);
		OPT(CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)s->body.n);
		OPT(CURLOPT_POSTFIELDS, s->body.n > 0 ? s->body.p : "");
	} else {
		OPT(CURLOPT_HTTPGET, 1L);
		OPT(CURLOPT_CUSTOMREQUEST, s->remove ? "DELETE" : NULL);
	}
#undef OPT
	return r == CURLE_OK;
}

int transfer_start(struct transfers *t, const struct transfer_spec *spec, struct transfer **out, struct err *err)
{
	struct transfer *x = mem_alloc(sizeof(*x));

	x->all = t;
	x->spec = *spec;
	x->easy = curl_easy_init();
	BUG_IF(!x->easy);
	if (!set_options(x) || curl_multi_add_handle(t->multi, x->easy) != CURLM_OK) {
		curl_easy_cleanup(x->easy);
		free(x);
		return err_set(err, ERR_UNSUPPORTED, "this libcurl refuses an option we need");
	}
	*out = x;
	return 0;
}

void transfer_go_on(struct transfer *x)
{
	curl_easy_pause(x->easy, CURLPAUSE_CONT);
}

void transfer_cancel(struct transfer *x)
{
	/* 7.88.1 leaves an HTTP/2 stream's reset unsent until the connection's next use, and a model nobody listens
	 * to costs money: without another stream on it the connection is closed, which the server sees at once. */
	curl_easy_setopt(x->easy, CURLOPT_FORBID_REUSE, 1L);
	release(x);
}
