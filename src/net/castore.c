/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The agent6 authors. */
#include "net/castore.h"

#include <curl/curl.h>
#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <string.h>

struct castore {
	X509_STORE *store;
};

static const char *const bundles[] = {
	"/etc/ssl/certs/ca-certificates.crt",                /* Debian, Arch, Alpine */
	"/etc/pki/tls/certs/ca-bundle.crt",                  /* Fedora */
	"/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", /* Fedora from 43 */
	"/etc/ssl/cert.pem",                                 /* Alpine, BSD */
	"/var/lib/ca-certificates/ca-bundle.pem",            /* openSUSE */
	"/etc/ssl/ca-bundle.pem",
};

int castore_check(struct err *err)
{
	const curl_version_info_data *v = curl_version_info(CURLVERSION_NOW);
	char want[32];

	snprintf(want, sizeof(want), "OpenSSL/%lu.", OpenSSL_version_num() >> 28);
	if (!v->ssl_version || !strstr(v->ssl_version, want))
		return err_set(err, ERR_UNSUPPORTED, "this libcurl (%s) speaks TLS by \"%s\", not by %s*", v->version,
			v->ssl_version ? v->ssl_version : "nothing", want);
	/* Reads openssl.cnf (the distribution's policy) now; its environment variables are gone by then. */
	if (OPENSSL_init_ssl(OPENSSL_INIT_LOAD_CONFIG, NULL) != 1)
		return err_set(err, ERR_UNSUPPORTED, "OpenSSL does not start");
	return 0;
}

static int load_file(const char *path, struct castore **out, struct err *err)
{
	X509_STORE *store;
	char why[160];

	if (access(path, R_OK) < 0)
		return err_sys(err, errno, "read certificates from %s", path);
	store = X509_STORE_new();
	BUG_IF(!store);
	ERR_clear_error();
	/* As curl's own: a certificate in the bundle is trusted even when it is not self-signed. */
	X509_STORE_set_flags(store, X509_V_FLAG_TRUSTED_FIRST | X509_V_FLAG_PARTIAL_CHAIN);
	if (X509_STORE_load_locations(store, path, NULL) != 1) {
		ERR_error_string_n(ERR_peek_last_error(), why, sizeof(why));
		X509_STORE_free(store);
		return err_set(err, ERR_SYNTAX, "%s holds no PEM certificates (%s)", path, why);
	}
	*out = mem_alloc(sizeof(**out));
	(*out)->store = store;
	return 0;
}

int castore_load(struct str path, struct castore **out, struct err *err)
{
	if (path.n > 0) {
		autofree char *z = mem_alloc(path.n + 1);

		memcpy(z, path.p, path.n);
		return load_file(z, out, err);
	}
	for (size_t i = 0; i < COUNT(bundles); i++)
		if (load_file(bundles[i], out, ERR_DISCARD) == 0)
			return 0;
	err_set(err, ERR_NOENT, "no certificate bundle found (looked at %s and %zu more places)", bundles[0],
		COUNT(bundles) - 1);
	err_hint(err, "install ca-certificates, or set providers.<name>.ca_file");
	return -ERR_NOENT;
}

void castore_free(struct castore *c)
{
	if (c)
		X509_STORE_free(c->store);
	free(c);
}

int castore_use(void *ssl_ctx, struct castore *c)
{
	/* Whom we speak to was checked when the connection began; TLS 1.2 could have us begin anew, as often as the server likes. */
	SSL_CTX_set_options(ssl_ctx, SSL_OP_NO_RENEGOTIATION);
	/* The same store for all: OpenSSL counts references. */
	return SSL_CTX_set1_verify_cert_store(ssl_ctx, c->store) == 1 ? 0 : -1;
}
