package main

import (
	"bytes"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// answers are of a server that says what it was asked for.
func answers() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %s %s %s %q", r.Method, r.Host, r.Header.Get("Content-Type"), r.Header.Get("Authorization"), body)
	})
	mux.HandleFunc("/agent", func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.UserAgent()) })
	mux.HandleFunc("/none", http.NotFound)
	mux.Handle("/there", http.RedirectHandler("/agent", http.StatusFound))
	mux.HandleFunc("/slow", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	return mux
}

// result is what a tool wrote, and its status.
type result struct {
	Status   int
	Out, Err string
}

func call(t *testing.T, args ...string) result {
	t.Helper()
	var out, said bytes.Buffer
	status := run(t.Context(), args, streams{strings.NewReader("typed\n"), &out, &said})
	return result{status, out.String(), said.String()}
}

func TestTools(t *testing.T) {
	plain, secret := httptest.NewServer(answers()), httptest.NewTLSServer(answers())
	defer plain.Close()
	defer secret.Close()
	dir := t.TempDir()
	file := func(name, content string) string {
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	authority := file("ca.crt", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secret.Certificate().Raw})))
	data := file("data", "a\nb\n")
	at, port, _ := strings.Cut(strings.TrimPrefix(plain.URL, "http://"), ":")
	_, securePort, _ := strings.Cut(strings.TrimPrefix(secret.URL, "https://"), ":")
	host := at + ":" + port
	for _, tc := range []struct {
		args string // PLAIN, SECRET and the like stand for what the test made
		want result // of the messages, a part
	}{
		{"wget -q -O - PLAIN", result{0, "GET HOST   \"\"", ""}},
		{"wget -qO- -T 2 -t 1 HOST", result{0, "GET HOST   \"\"", ""}},
		{"wget -qO- --timeout=1 PLAIN/slow", result{1, "", "wget: download timed out\n"}},
		{"wget -O- PLAIN/none", result{1, "", "wget: server returned error: HTTP/1.1 404 Not Found\n"}},
		{"wget --spider -S PLAIN/there", result{0, "", "  HTTP/1.1 200 OK\r\n"}},
		{"wget -qO- -U me PLAIN/there", result{0, "me", ""}},
		{"wget -qO- --header Host:web.test --post-data x=1 PLAIN", result{0, "POST web.test application/x-www-form-urlencoded  \"x=1\"", ""}},
		{"wget -qO- --post-file DATA PLAIN", result{0, "POST HOST application/x-www-form-urlencoded  \"a\\nb\\n\"", ""}},
		{"wget -qO- SECRET/agent", result{1, "", "certificate signed by unknown authority"}},
		{"wget -qO- --no-check-certificate SECRET/agent", result{0, "Wget", ""}},
		{"wget -qO- --ca-certificate=CA SECRET/agent", result{0, "Wget", ""}},
		{"wget -P DIR PLAIN/agent", result{0, "", "'DIR/agent' saved, 4 bytes\n"}},
		{"wget", result{1, "", "wget: name a URL; see wget --help\n"}},
		{"wget --help", result{1, "", "-T, --timeout SECONDS"}},
		{"toolbox curl -sS PLAIN", result{0, "GET HOST   \"\"", ""}},
		{"curl -sS -X PUT -H Host:web.test -H Content-Type:text/plain -d x PLAIN", result{0, "PUT web.test text/plain  \"x\"", ""}},
		{"curl -d a=1 --data-raw @b PLAIN", result{0, "POST HOST application/x-www-form-urlencoded  \"a=1&@b\"", ""}},
		{"curl -d @DATA PLAIN", result{0, "POST HOST application/x-www-form-urlencoded  \"ab\"", ""}},
		{"curl --json @- PLAIN", result{0, "POST HOST application/json  \"typed\\n\"", ""}},
		{"curl -u me:you PLAIN", result{0, "GET HOST  Basic bWU6eW91 \"\"", ""}},
		{"curl -sS PLAIN/none", result{0, "404 page not found\n", ""}},
		{"curl -sSf PLAIN/none", result{22, "", "curl: (22) the requested URL returned error: 404\n"}},
		{"curl -sf PLAIN/none", result{22, "", ""}},
		{"curl -so DIR/out -w %{http_code},%{size_download},%{remote_ip}\\n PLAIN/none", result{0, "404,19,127.0.0.1\n", ""}},
		{"curl -sL -A me PLAIN/there", result{0, "me", ""}},
		{"curl -sI PLAIN/agent", result{0, "HTTP/1.1 200 OK\r\n", ""}},
		{"curl -sv PLAIN/agent -A me", result{0, "me", "> User-Agent: me\n"}},
		{"curl -sv PLAIN/agent -A me", result{0, "me", "< HTTP/1.1 200 OK\r\n"}},
		{"curl -m 0.2 PLAIN/slow", result{28, "", "curl: (28) "}},
		{"curl SECRET/agent", result{60, "", "curl: (60) "}},
		{"curl -k -A me SECRET/agent", result{0, "me", ""}},
		{"curl -v -4 -A me --cacert CA SECRET/agent", result{0, "me", "* Server certificate: "}},
		{"curl -A me --cacert CA --resolve example.com:SPORT:127.0.0.1 https://Example.com:SPORT/agent", result{0, "me", ""}},
		{"curl --noproxy * --resolve other.test:SPORT:[127.0.0.1] --cacert CA https://other.test:SPORT/agent", result{60, "", "not other.test"}},
		{"curl --cacert DATA SECRET", result{2, "", "has no certificate: give a file of certificate authorities in PEM"}},
		{"curl http://127.0.0.1:1", result{7, "", "curl: (7) "}},
		{"curl http://no.invalid", result{6, "", "curl: (6) "}},
		{"curl https://HOST", result{35, "", "curl: (35) "}},
		{"curl http://%zz", result{3, "", "curl: (3) "}},
		{"curl -H nothing PLAIN", result{3, "", "has no colon"}},
		{"curl --resolve a:1 PLAIN", result{2, "", ":PORT:ADDRESS"}},
		{"curl --resolve a:1:b PLAIN", result{2, "", "is no IP address"}},
		{"curl -46 PLAIN", result{2, "", "exclude each other"}},
		{"curl -O PLAIN", result{23, "", "name one with -o"}},
		{"curl --bogus PLAIN", result{2, "", "unknown flag: --bogus; see curl --help"}},
		{"printenv KQUEEN_TOOL", result{0, "hammer\n", ""}},
		{"printenv KQUEEN_NO_TOOL KQUEEN_TOOL", result{1, "hammer\n", ""}},
		{"nslookup", result{1, "", "nslookup: name what to look up; see nslookup --help\n"}},
		{"toolbox --list", result{0, "curl\nnslookup\nprintenv\nwget\n", ""}},
		{"toolbox hammer", result{2, "", "TOOL is one of [curl nslookup printenv wget]"}},
	} {
		t.Run(tc.args, func(t *testing.T) {
			t.Setenv("KQUEEN_TOOL", "hammer")
			fill := strings.NewReplacer("PLAIN", plain.URL, "SECRET", secret.URL, "HOST", host, "SPORT", securePort, "CA", authority, "DATA", data, "DIR", dir)
			var args []string
			for word := range strings.FieldsSeq(tc.args) {
				args = append(args, fill.Replace(word))
			}
			got, want := call(t, args...), tc.want
			want.Out = fill.Replace(want.Out)
			if part := fill.Replace(want.Err); part != "" && strings.Contains(got.Err, part) {
				want.Err = got.Err
			}
			if strings.HasPrefix(tc.args, "curl -sI") && strings.HasPrefix(got.Out, want.Out) {
				want.Out = got.Out
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("-want, +got:\n%s", diff)
			}
		})
	}
	if out := call(t, "printenv").Out; !strings.Contains(out, "PATH="+os.Getenv("PATH")+"\n") {
		t.Errorf("all variables: %s", out)
	}
	if content, err := os.ReadFile(filepath.Join(dir, "agent")); err != nil || string(content) != "Wget" {
		t.Errorf("wget saved %q: %v", content, err)
	}
}

func TestNameIn(t *testing.T) {
	for path, want := range map[string]string{"": "-", "/": "-", "/a/b": "b", "/a/": "-", "/..": "-", "/a/../": "-", "/a.tar": "a.tar"} {
		if got := nameIn(path, "-"); got != want {
			t.Errorf("%q is saved as %q, want %q", path, got, want)
		}
	}
}

func TestLookupRefuses(t *testing.T) {
	if _, err := lookup(t.Context(), nil, "soap", "a"); err == nil || !strings.Contains(err.Error(), "give a, aaaa") {
		t.Errorf("a type that is not known: %v", err)
	}
}
