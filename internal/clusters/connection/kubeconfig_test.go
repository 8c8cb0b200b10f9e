package connection

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/tools/clientcmd"

	"kqueen.io/kqueen/internal/platform/invalid"
)

// canary is in every kubeconfig of the tests where a secret is, and in no error.
const canary = "s3cr3t-canary"

// written is a kubeconfig with these fields of its cluster and its user.
func written(cluster, user string) string {
	return fmt.Sprintf(`apiVersion: v1
kind: Config
current-context: c
contexts:
- name: c
  context: {cluster: a, user: u}
clusters:
- name: a
  cluster: {%s}
users:
- name: u
  user: {%s}
`, cluster, user)
}

const (
	goodServer = "server: https://192.0.2.7:6443"
	goodUser   = "token: " + canary
)

func TestParseRefuses(t *testing.T) {
	b64 := base64.StdEncoding.EncodeToString([]byte("no pem"))
	tests := map[string]struct{ text, field string }{
		"Exec":               {written(goodServer, "exec: {apiVersion: client.authentication.k8s.io/v1, command: touch, args: [/tmp/owned]}"), "users[0].user.exec"},
		"ExecBesideToken":    {written(goodServer, goodUser+", exec: {command: sh}"), "users[0].user.exec"},
		"AuthProvider":       {written(goodServer, "auth-provider: {name: gcp, config: {cmd-path: /bin/sh}}"), "users[0].user.auth-provider"},
		"TokenFile":          {written(goodServer, "tokenFile: /etc/shadow"), "users[0].user.tokenFile"},
		"KeyFile":            {written(goodServer, "client-key: /etc/kqueen/key"), "users[0].user.client-key"},
		"CertificateFile":    {written(goodServer, "client-certificate: ../x"), "users[0].user.client-certificate"},
		"As":                 {written(goodServer, goodUser+", as: admin"), "users[0].user.as"},
		"AsUID":              {written(goodServer, goodUser+", as-uid: x"), "users[0].user.as-uid"},
		"AsGroups":           {written(goodServer, goodUser+", as-groups: [system:masters]"), "users[0].user.as-groups"},
		"AsExtra":            {written(goodServer, goodUser+", as-user-extra: {a: [b]}"), "users[0].user.as-user-extra"},
		"NoCredentials":      {written(goodServer, ""), "users[0].user"},
		"UsernameAlone":      {written(goodServer, "username: x"), "users[0].user"},
		"TokenAndPassword":   {written(goodServer, goodUser+", username: x, password: y"), "users[0].user"},
		"KeyAlone":           {written(goodServer, "client-key-data: "+b64), "users[0].user"},
		"KeyNoPEM":           {written(goodServer, "client-key-data: "+b64+", client-certificate-data: "+b64), "users[0].user.client-key-data"},
		"TokenWithLineBreak": {written(goodServer, `token: "`+canary+`\r\nX-Remote-User: admin"`), "users[0].user.token"},
		"CAFile":             {written(goodServer+", certificate-authority: ../../x", goodUser), "clusters[0].cluster.certificate-authority"},
		"CANoPEM":            {written(goodServer+", certificate-authority-data: "+b64, goodUser), "clusters[0].cluster.certificate-authority-data"},
		"Insecure":           {written(goodServer+", insecure-skip-tls-verify: true", goodUser), "clusters[0].cluster.insecure-skip-tls-verify"},
		"Proxy":              {written(goodServer+", proxy-url: http://192.0.2.9:3128", goodUser), "clusters[0].cluster.proxy-url"},
		"ServerName":         {written(goodServer+`, tls-server-name: "a b"`, goodUser), "clusters[0].cluster.tls-server-name"},
		"NoServer":           {written("", goodUser), "clusters[0].cluster.server"},
		"PlainHTTP":          {written("server: http://192.0.2.7", goodUser), "clusters[0].cluster.server"},
		"UnixSocket":         {written("server: unix:///run/x.sock", goodUser), "clusters[0].cluster.server"},
		"File":               {written("server: file:///etc/passwd", goodUser), "clusters[0].cluster.server"},
		"ServerNoURL":        {written(`server: "https://[::1"`, goodUser), "clusters[0].cluster.server"},
		"ServerUser":         {written("server: https://x:"+canary+"@192.0.2.7", goodUser), "clusters[0].cluster.server"},
		"ServerQuery":        {written(`server: "https://192.0.2.7/?a=b"`, goodUser), "clusters[0].cluster.server"},
		"ServerOctal":        {written("server: https://0177.0.0.1", goodUser), "clusters[0].cluster.server"},
		"ServerHex":          {written("server: https://0x7f000001", goodUser), "clusters[0].cluster.server"},
		"ServerDecimal":      {written("server: https://2130706433", goodUser), "clusters[0].cluster.server"},
		"ServerShort":        {written("server: https://127.1", goodUser), "clusters[0].cluster.server"},
		"ServerWrapped":      {written(`server: "https://[::ffff:127.0.0.1]:6443"`, goodUser), "clusters[0].cluster.server"},
		"ServerZone":         {written(`server: "https://[fe80::1%25lo]:6443"`, goodUser), "clusters[0].cluster.server"},
		"ServerPort":         {written("server: https://192.0.2.7:70000", goodUser), "clusters[0].cluster.server"},
		"ServerPortZero":     {written("server: https://192.0.2.7:0", goodUser), "clusters[0].cluster.server"},
		"ServerUnderline":    {written("server: https://a_b", goodUser), "clusters[0].cluster.server"},
		"Empty":              {"", ""},
		"Blank":              {" \n", ""},
		"NoYAML":             {"\x00", ""},
		"NoConfig":           {"kind: Pod\napiVersion: v1\n", "kind"},
		"NoV1":               {"kind: Config\napiVersion: v2\n", "apiVersion"},
		"NoCurrentContext":   {strings.Replace(written(goodServer, goodUser), "current-context: c", "", 1), "current-context"},
		"UnknownContext":     {strings.Replace(written(goodServer, goodUser), "current-context: c", "current-context: d", 1), "current-context"},
		"UnknownCluster":     {strings.Replace(written(goodServer, goodUser), "{cluster: a,", "{cluster: b,", 1), "contexts[0].context.cluster"},
		"UnknownUser":        {strings.Replace(written(goodServer, goodUser), "user: u}", "user: v}", 1), "contexts[0].context.user"},
		"TwoOfOneName":       {written(goodServer, goodUser) + "- name: u\n  user: {token: other}\n", "users[1].name"},
		"DuplicateKey":       {written(goodServer, goodUser+", token: "+canary+"2"), ""},
		"UnknownField":       {written(goodServer, goodUser+", tokn: x"), ""},
		"WrongType":          {written(goodServer, "token: ["+canary+"]"), ""},
		"QuotedAnchor":       {written(goodServer, "token: *"+canary), ""},
		"TooLarge":           {written(goodServer, goodUser) + strings.Repeat("#", MostKubeconfig), ""},
		"AliasBomb":          {aliasBomb(), ""},
		"Deep":               {written(goodServer, goodUser) + "extensions: " + strings.Repeat("[", 20000), ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			k, err := Parse([]byte(tc.text))
			bad, ok := errors.AsType[*invalid.Error](err)
			if !ok || bad.Field != tc.field || bad.Problem == "" || k != nil {
				t.Fatalf("got %v, error %v; want one of %q", k, err, tc.field)
			}
			if strings.Contains(err.Error(), canary) {
				t.Errorf("the error repeats a secret: %v", err)
			}
		})
	}
}

// aliasBomb is 10 to the 9th as aliases, in little text.
func aliasBomb() string {
	lines := []string{"preferences: {extensions: []}", "a0: &a0 x"}
	for i := 1; i < 10; i++ {
		lines = append(lines, fmt.Sprintf("a%d: &a%d [%s]", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d,", i-1), 10), ",")))
	}
	return strings.Join(lines, "\n")
}

func TestParseTakes(t *testing.T) {
	tests := map[string]struct{ text, server string }{
		"Token":        {written(goodServer, goodUser), "https://192.0.2.7:6443"},
		"Password":     {written("server: https://example.com", "username: u, password: "+canary), "https://example.com:443"},
		"Path":         {written("server: https://rancher.example.com/k8s/clusters/c-1/", goodUser), "https://rancher.example.com:443/k8s/clusters/c-1"},
		"IPv6":         {written(`server: "https://[2001:db8::1]:31443"`, goodUser), "https://[2001:db8::1]:31443"},
		"LoopbackName": {written("server: https://localhost:6443", goodUser), "https://localhost:6443"}, // what it leads to is judged when it is called
		"Extensions":   {written(goodServer+", extensions: [{name: minikube.sigs.k8s.io, extension: {version: v1}}]", goodUser), "https://192.0.2.7:6443"},
		"OtherContexts": {strings.Replace(written(goodServer, goodUser), "users:\n", "users:\n- name: other\n  user: {exec: {command: sh}}\n", 1),
			"https://192.0.2.7:6443"},
		"Windows": {"\ufeff" + strings.ReplaceAll(written(goodServer, goodUser), "\n", "\r\n"), "https://192.0.2.7:6443"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			k, err := Parse([]byte(tc.text))
			if err != nil {
				t.Fatal(err)
			}
			if k.Server() != tc.server {
				t.Errorf("got server %s, want %s", k.Server(), tc.server)
			}
			for _, shown := range []string{fmt.Sprintf("%v %+v %#v", k, k, k)} {
				if strings.Contains(shown, canary) {
					t.Errorf("printing shows a secret: %s", shown)
				}
			}
			encoded, err := k.Encode()
			if err != nil {
				t.Fatal(err)
			}
			again, err := Parse(encoded)
			if err != nil {
				t.Fatalf("what was written is not read again: %v", err)
			}
			if diff := cmp.Diff(k, again, cmp.AllowUnexported(Kubeconfig{})); diff != "" {
				t.Errorf("it is another one after writing and reading (-want +got):\n%s", diff)
			}
			if _, err := clientcmd.Load(encoded); err != nil {
				t.Errorf("the client library does not read it: %v", err)
			}
		})
	}
}

// FuzzParse: whatever a user hands in, what is taken has one server to be called by TLS, and is the same after writing and reading.
func FuzzParse(f *testing.F) {
	for _, text := range []string{written(goodServer, goodUser), written(goodServer, "exec: {command: x}"), aliasBomb()} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		k, err := Parse(data)
		if err != nil {
			if _, ok := errors.AsType[*invalid.Error](err); !ok {
				t.Fatalf("an error of another kind: %v", err)
			}
			return
		}
		if k.server.Scheme != "https" || k.server.Host == "" || k.token == "" && k.password == "" && len(k.key) == 0 {
			t.Fatalf("taken without a server or credentials: %v", k)
		}
		encoded, err := k.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if again, err := Parse(encoded); err != nil || !cmp.Equal(k, again, cmp.AllowUnexported(Kubeconfig{})) {
			t.Fatalf("what was written is not read again: %v", err)
		}
	})
}
