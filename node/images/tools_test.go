package main

import (
	"archive/tar"
	"encoding/pem"
	"errors"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"golang.org/x/net/dns/dnsmessage"
)

// nameServer is where the DNS server of the test listens: resolv.conf has no ports.
const nameServer = "127.53.53.53"

// asked is what nslookup prints of it.
const asked = "Server:\t\t" + nameServer + "\nAddress:\t" + nameServer + ":53\n\n"

// toolCases are commands for the image's shell, by the tool that they are about, and what they print. WEB and SECURE
// are host and port of servers, by names that DNS alone knows.
var toolCases = map[string]struct{ command, want string }{
	"ash":      {"ash -c 'x=1; echo $((x+1))'", "2\n"},
	"awk":      {"echo a b | awk '{print $2}'", "b\n"},
	"bash":     {"bash -c 'x=(a b); echo ${x[1]}'", "b\n"},
	"cat":      {"cat /etc/group | head -n 1", "root:x:0:\n"},
	"curl":     {"curl -sS --cacert /ca.crt https://SECURE/a && curl -sS -m 5 http://WEB/b && curl -sSk -H Host:c.test https://127.0.0.1:SPORT/", "example.com /a\nweb /b\nc.test /\n"},
	"date":     {"date -u -d @0 +%Y", "1970\n"},
	"dd":       {"dd if=/dev/zero bs=8 count=2 2>/dev/null | wc -c", "16\n"},
	"env":      {"env -i A=1 env", "A=1\n"},
	"grep":     {"grep -c root /etc/passwd", "1\n"},
	"hostname": {"hostname >/dev/null && echo named", "named\n"},
	"httpd":    {"cd /tmp && echo page >index.html && httpd -p 127.53.53.53:8053 && wget -qO- http://127.53.53.53:8053/; kill $(pidof httpd)", "page\n"},
	"id":       {"id -u", "0\n"},
	"ip":       {"ip -4 addr show lo | grep -o 'inet 127.0.0.1'", "inet 127.0.0.1\n"},
	"ls":       {"ls -d /etc", "/etc\n"},
	"md5sum":   {"printf a | md5sum", "0cc175b9c0f1b6a831c399e269772661  -\n"},
	"nc":       {"printf 'GET / HTTP/1.0\\r\\nHost: d.test\\r\\n\\r\\n' | nc web PORT | tail -n 1", "d.test /\n"},
	"nslookup": {
		"nslookup web.default | tail -n 2 && nslookup -type=a example.com 127.53.53.53 && nslookup -type=srv example.com | tail -n 1 && ! nslookup none.default 2>/dev/null",
		"Name:\tweb.default.svc.cluster.local\nAddress: 127.0.0.1\n" + asked + "Name:\texample.com\nAddress: 127.0.0.1\n" +
			"example.com.\tservice = 0 100 80 example.com.\n" + asked,
	},
	"ping":     {"ping -c 1 -W 5 web >/dev/null && echo there", "there\n"},
	"printenv": {"A=b printenv A", "b\n"},
	"ps":       {"ps -o comm | grep -c '^ps$'", "1\n"},
	"sed":      {"echo a | sed s/a/b/", "b\n"},
	"sh":       {"sh -c 'echo $0'", "sh\n"},
	"sleep":    {"sleep 0.01 && echo awake", "awake\n"},
	"stat":     {"stat -c %a /root", "700\n"},
	"wget":     {"wget -T 5 -qO- http://WEB/a && wget -q -O - --ca-certificate=/ca.crt https://SECURE/b", "web /a\nexample.com /b\n"},
}

// TestTools runs each tool that the documentation names as a pod would: in the files of the image alone, with a DNS
// server, and a web server whose name it has to look up.
func TestTools(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can change the root directory")
	}
	tested := slices.Sorted(maps.Keys(toolCases))
	if diff := cmp.Diff(documentedTools(t), tested); diff != "" {
		t.Errorf("tools: -in the documentation, +tested:\n%s", diff)
	}
	root := imageRoot(t)
	serveDNS(t)
	fill := strings.NewReplacer(serveWeb(t, root)...)
	for name, tc := range toolCases {
		t.Run(name, func(t *testing.T) {
			// The process has mounts of its own, which end with it. Called by its path, sh is the image's and not busybox's.
			cmd := exec.CommandContext(t.Context(), "/bin/busybox", "sh", "-c", `mount -t proc proc /proc && exec /bin/sh -c "$1"`, "sh", fill.Replace(tc.command))
			cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: root, Unshareflags: syscall.CLONE_NEWNS}
			cmd.Dir, cmd.Env = "/", []string{searchPath}
			var said strings.Builder
			cmd.Stderr = &said
			out, err := cmd.Output()
			if diff := cmp.Diff(tc.want, string(out)); diff != "" || err != nil {
				t.Errorf("%v: %s: -want, +got:\n%s", err, said.String(), diff)
			}
		})
	}
}

// documentedTools are those that the page about images lists, and what pods of the image run elsewhere in the documentation.
func documentedTools(t *testing.T) []string {
	t.Helper()
	var tools []string
	_, list, ok := strings.Cut(string(read(t, "../../docs/guides/images.md")), "Its tools are, among others:\n")
	if !ok {
		t.Fatal("docs/guides/images.md does not list the tools")
	}
	list, _, _ = strings.Cut(list, "\n\n")
	for _, found := range regexp.MustCompile("`([a-z0-9]+)`").FindAllStringSubmatch(list, -1) {
		tools = append(tools, found[1])
	}
	pages, err := filepath.Glob("../../docs/*/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatalf("no documentation: %v", err)
	}
	runs := regexp.MustCompile(`kqueen\.internal/busybox\S* .*-- ([a-z0-9]+)`)
	for _, page := range pages {
		for _, found := range runs.FindAllStringSubmatch(string(read(t, page)), -1) {
			tools = append(tools, found[1])
		}
	}
	slices.Sort(tools)
	return slices.Compact(tools)
}

// imageRoot is a folder with the files of the packed image, and what a kubelet adds to them.
func imageRoot(t *testing.T) string {
	t.Helper()
	busybox, toolbox, shell := tryingPrograms(t)
	made, err := busyboxContents(t.Context(), busybox, toolbox, shell)
	if err != nil {
		t.Fatal(err)
	}
	archive := filepath.Join(t.TempDir(), "busybox.tar")
	if err := pack(archive, "kqueen.internal/busybox:1", made); err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	extract(t, root, mutate.Extract(open(t, read(t, archive), "kqueen.internal/busybox:1")))
	resolv := "nameserver " + nameServer + "\nsearch default.svc.cluster.local svc.cluster.local cluster.local\noptions ndots:5\n"
	err = errors.Join(
		os.WriteFile(filepath.Join(root, "etc/resolv.conf"), []byte(resolv), 0o600),
		os.Mkdir(filepath.Join(root, "proc"), 0o700), os.Mkdir(filepath.Join(root, "dev"), 0o700),
		syscall.Mknod(filepath.Join(root, "dev/null"), syscall.S_IFCHR|0o666, 1<<8|3), syscall.Mknod(filepath.Join(root, "dev/zero"), syscall.S_IFCHR|0o666, 1<<8|5),
	)
	if err != nil {
		t.Fatal(err)
	}
	return root
}

func extract(t *testing.T, root string, files io.ReadCloser) {
	t.Helper()
	defer files.Close()
	reader := tar.NewReader(files)
	for header, err := reader.Next(); !errors.Is(err, io.EOF); header, err = reader.Next() {
		if err != nil {
			t.Fatal(err)
		}
		to := filepath.Join(root, header.Name)
		err = os.MkdirAll(filepath.Dir(to), 0o755)
		switch header.Typeflag {
		case tar.TypeDir:
			err = errors.Join(err, os.MkdirAll(to, 0o755), os.Chmod(to, header.FileInfo().Mode()))
		case tar.TypeSymlink:
			err = errors.Join(err, os.Symlink(header.Linkname, to))
		default:
			var content []byte
			content, errRead := io.ReadAll(reader)
			err = errors.Join(err, errRead, os.WriteFile(to, content, header.FileInfo().Mode()))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// serveWeb starts servers of HTTP and HTTPS that say for which host and path they were asked, puts the certificate
// into the image, and returns what stands for them in commands.
func serveWeb(t *testing.T, root string) []string {
	t.Helper()
	says := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, _ := strings.Cut(r.Host, ":")
		io.WriteString(w, host+" "+r.URL.Path+"\n")
	})
	plain, secure := httptest.NewServer(says), httptest.NewTLSServer(says)
	t.Cleanup(plain.Close)
	t.Cleanup(secure.Close)
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw})
	if err := os.WriteFile(filepath.Join(root, "ca.crt"), authority, 0o600); err != nil {
		t.Fatal(err)
	}
	port := func(server *httptest.Server) string {
		_, port, _ := net.SplitHostPort(server.Listener.Addr().String())
		return port
	}
	return []string{"WEB", "web:" + port(plain), "SECURE", "example.com:" + port(secure), "SPORT", port(secure), "PORT", port(plain)}
}

// serveDNS knows two names, whose address is 127.0.0.1.
func serveDNS(t *testing.T) {
	t.Helper()
	conn, err := net.ListenPacket("udp", net.JoinHostPort(nameServer, "53"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	go func() {
		packet := make([]byte, 1500)
		for {
			n, from, err := conn.ReadFrom(packet)
			if err != nil {
				return
			}
			if reply, err := replyTo(packet[:n]); err == nil {
				conn.WriteTo(reply, from)
			}
		}
	}()
}

func replyTo(packet []byte) ([]byte, error) {
	var m dnsmessage.Message
	if err := m.Unpack(packet); err != nil || len(m.Questions) != 1 {
		return nil, errors.Join(err, errors.New("not one question"))
	}
	q := m.Questions[0]
	reply := dnsmessage.Message{Header: dnsmessage.Header{ID: m.ID, Response: true, RecursionDesired: m.RecursionDesired, RecursionAvailable: true}, Questions: m.Questions}
	switch q.Name.String() {
	case "web.default.svc.cluster.local.", "example.com.":
		header := dnsmessage.ResourceHeader{Name: q.Name, Class: q.Class, TTL: 5}
		switch q.Type {
		case dnsmessage.TypeA:
			reply.Answers = []dnsmessage.Resource{{Header: header, Body: &dnsmessage.AResource{A: [4]byte{127, 0, 0, 1}}}}
		case dnsmessage.TypeSRV:
			reply.Answers = []dnsmessage.Resource{{Header: header, Body: &dnsmessage.SRVResource{Weight: 100, Port: 80, Target: q.Name}}}
		}
	default:
		reply.RCode = dnsmessage.RCodeNameError
	}
	return reply.Pack()
}
