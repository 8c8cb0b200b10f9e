package redact

import (
	"strings"
	"testing"
)

// TestText: what looks like a secret goes, and what a log says beside it stays.
func TestText(t *testing.T) {
	const jwt = "eyJhbGciOiJFUzI1NiIsImtpZCI6IngifQ.eyJpc3MiOiJrcXVlZW4ifQ.c2lnbmF0dXJl-_x"
	key := "-----BEGIN EC PRIVATE KEY-----\nMHcCAQEEIE0\n-----END EC PRIVATE KEY-----"
	for text, want := range map[string]string{
		"started kube-apiserver, pid 7":                                       "",
		"key: " + key + " end":                                                "key: [redacted] end",
		strings.ReplaceAll("a "+key+" b", "\n", `\n`):                         "a [redacted] b",
		"cut -----BEGIN PRIVATE KEY-----\nMHcC":                               "cut [redacted]",
		"-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERT":                    "",
		"data: LS0tLS1CRUdJTi" + strings.Repeat("BQ", 30):                     "data: [redacted]",
		"got " + jwt + ", which":                                              "got [redacted], which",
		"token kqt_0123456789abcdefghijklmnopqrstuv refused":                  "token [redacted] refused",
		"join with abcdef.0123456789abcdef now":                               "join with [redacted] now",
		"open postgres://kqueen:hunter2@db:5432/k?x=1":                        "open postgres://kqueen:[redacted]@db:5432/k?x=1",
		"https://db.example.com:5432/path@x":                                  "",
		"Authorization: Bearer abc.def":                                       "Authorization: [redacted] [redacted]",
		`{"authorization":"Basic dXNlcg=="}`:                                  `{"authorization":"Basic [redacted]"}`,
		`{"password":"a b","user":"u"}`:                                       `{"password":"[redacted]","user":"u"}`,
		`{\"clientSecret\":\"s3\"}`:                                           `{\"clientSecret\":\"[redacted]\"}`,
		`{"token": null, "secret": 5, "secretName": "demo", "tokens": ["a"]}`: "",
		`token: "a b"`:                                      `token: "[redacted] b"`,
		"--token=abc --port=1":                              "--token=[redacted] --port=1",
		"KQUEEN_TOKEN=abc":                                  "KQUEEN_TOKEN=[redacted]",
		"password: hunter2":                                 "password: [redacted]",
		"the token is bad, and secrets are in etcd":         "",
		"v1.36.3 2026-11-23T06:00:38.123456Z 10.223.0.0/16": "",
	} {
		if want == "" {
			want = text
		}
		if got := Text(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
		if again := Text(Text(text)); again != Text(text) {
			t.Errorf("%q: not the same the second time: %q", text, again)
		}
	}
}
