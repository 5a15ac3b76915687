#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright The agent6 authors.
# apt-apart.sh DIR SUITE ARCH: makes DIR/apt/conf, an APT_CONFIG by which packages of that suite (this machine's where it is
# empty) and that machine can be fetched from where this machine fetches its own. Nothing outside DIR changes.
set -eu
vm=$1 suite=$2 arch=$3
[ ! -e "$vm/apt/done" ] || exit 0
mkdir -p "$vm/apt/lists/partial" "$vm/apt/cache/archives/partial"
. /etc/os-release
# shellcheck disable=SC2016
uri=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | grep -m1 '/debian/*$')
case $suite in
'') suites=${VERSION_CODENAME:-bookworm} ;;
*-backports) suites="${suite%-backports} $suite" ;;
*) suites=$suite ;;
esac
for s in $suites; do
	echo "deb [${arch:+arch=$arch }signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $uri $s main"
done >"$vm/apt/sources.list"
# Nothing of it is installed here, and what is here is not of it.
: >"$vm/apt/status"
cat >"$vm/apt/conf" <<-CONF
	Dir::State::lists "$vm/apt/lists";
	Dir::State::status "$vm/apt/status";
	Dir::Cache "$vm/apt/cache";
	Dir::Etc::sourcelist "$vm/apt/sources.list";
	Dir::Etc::sourceparts "-";
	APT::Sandbox::User "root";
	APT::Install-Recommends "false";
CONF
[ -z "$arch" ] || cat >>"$vm/apt/conf" <<-CONF
	APT::Architecture "$arch";
	APT::Architectures { "$arch"; };
CONF
APT_CONFIG=$vm/apt/conf apt-get -qq update
: >"$vm/apt/done"
