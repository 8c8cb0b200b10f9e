package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
)

// curl has the options that instructions for clusters use.
type curl struct {
	connection

	silent, showErrors, verbose bool
	include, head, failEarly    bool
	remoteName, four, six       bool
	method, output, writeOut    string
	agent, user                 string
	headers, urls               []string
	data, rawData, binaryData   []string
	json                        []string
	limit                       time.Duration // of everything
}

func parseCurl(args []string) (curl, error) {
	var c curl
	f := pflag.NewFlagSet("curl", pflag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.BoolVarP(&c.silent, "silent", "s", false, "print no errors")
	f.BoolVarP(&c.showErrors, "show-error", "S", false, "print errors, also with -s")
	f.BoolVarP(&c.verbose, "verbose", "v", false, "say what is done and sent")
	f.BoolVarP(&c.include, "include", "i", false, "print the headers of the answer, too")
	f.BoolVarP(&c.head, "head", "I", false, "ask for the headers alone")
	f.BoolVarP(&c.failEarly, "fail", "f", false, "fail where the server answers with an error")
	f.BoolVarP(&c.follow, "location", "L", false, "follow redirects")
	f.BoolVarP(&c.insecure, "insecure", "k", false, "do not verify the server's certificate")
	f.BoolVarP(&c.remoteName, "remote-name", "O", false, "write to a file with the name that the URL has")
	f.BoolVarP(&c.four, "ipv4", "4", false, "use IPv4 alone")
	f.BoolVarP(&c.six, "ipv6", "6", false, "use IPv6 alone")
	f.BoolVar(&c.http1, "http1.1", false, "use HTTP 1.1")
	f.BoolVar(&c.gzip, "compressed", false, "ask for a compressed answer, and unpack it")
	f.StringVar(&c.ca, "cacert", "", "verify the server's certificate by those in `FILE`")
	f.StringVarP(&c.cert, "cert", "E", "", "client certificate in `FILE`")
	f.StringVar(&c.key, "key", "", "key of the client certificate in `FILE`")
	f.StringVarP(&c.method, "request", "X", "", "HTTP `METHOD`")
	f.StringVarP(&c.output, "output", "o", "", "write to `FILE`")
	f.StringVarP(&c.writeOut, "write-out", "w", "", "print `FORMAT` at the end, as in '%{http_code}'")
	f.StringVarP(&c.agent, "user-agent", "A", "curl/8 (kqueen toolbox)", "say to be `AGENT`")
	f.StringVarP(&c.user, "user", "u", "", "`NAME:PASSWORD` of basic authentication")
	f.StringArrayVarP(&c.headers, "header", "H", nil, "send `HEADER`, as in \"Name: value\"; can be repeated")
	f.StringArrayVarP(&c.data, "data", "d", nil, "send `DATA` by POST, or @FILE without its line ends; can be repeated")
	f.StringArrayVar(&c.rawData, "data-raw", nil, "as --data, where @ is nothing special")
	f.StringArrayVar(&c.binaryData, "data-binary", nil, "as --data, where @FILE is sent as it is")
	f.StringArrayVar(&c.json, "json", nil, "as --data-binary, as application/json")
	resolve := f.StringArray("resolve", nil, "take the address in `HOST:PORT:ADDRESS` for the name; can be repeated")
	noProxy := f.String("noproxy", "", "with *, no proxy of the environment is used")
	connect := f.Float64("connect-timeout", 0, "fail where connecting takes `SECONDS`")
	limit := f.Float64P("max-time", "m", 0, "fail after `SECONDS`")
	f.BoolP("no-buffer", "N", false, "taken: output is never held back")
	f.BoolP("globoff", "g", false, "taken: URLs have no ranges here")
	const line = "curl [OPTION...] URL..."
	if err := f.Parse(args); err != nil {
		return curl{}, withUsage(f, line, err)
	}
	if c.urls = f.Args(); len(c.urls) == 0 {
		return curl{}, withUsage(f, line, errors.New("name a URL"))
	}
	c.timeout, c.limit, c.direct = seconds(*connect), seconds(*limit), *noProxy == "*"
	var err error
	c.addresses, err = parseResolve(*resolve)
	return c, err
}

func seconds(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }

// parseResolve reads HOST:PORT:ADDRESS, where an address of IPv6 may stand in brackets. Of several addresses the first
// is used.
func parseResolve(entries []string) (map[string]string, error) {
	addresses := map[string]string{}
	for _, entry := range entries {
		parts := strings.SplitN(entry, ":", 3)
		if len(parts) < 3 {
			return nil, fmt.Errorf("--resolve %q: give HOST:PORT:ADDRESS", entry)
		}
		first, _, _ := strings.Cut(parts[2], ",")
		address := strings.Trim(first, "[]")
		if net.ParseIP(address) == nil {
			return nil, fmt.Errorf("--resolve %q: %q is no IP address", entry, first)
		}
		addresses[strings.ToLower(net.JoinHostPort(parts[0], parts[1]))] = net.JoinHostPort(address, parts[1])
	}
	return addresses, nil
}

// addressFamily is the network of a dialer.
func (c curl) addressFamily() (string, error) {
	switch {
	case c.four && c.six:
		return "", errors.New("-4 and -6 exclude each other")
	case c.four:
		return "tcp4", nil
	case c.six:
		return "tcp6", nil
	}
	return "tcp", nil
}

func (c curl) methodFor(body io.Reader) string {
	switch {
	case c.method != "":
		return c.method
	case c.head:
		return http.MethodHead
	case body != nil:
		return http.MethodPost
	}
	return http.MethodGet
}

// media is the type of what is sent.
func (c curl) media() string {
	if len(c.json) > 0 {
		return "application/json"
	}
	return "application/x-www-form-urlencoded"
}

// body joins what is sent by "&", and is nil where nothing is sent.
func (c curl) body(stdin io.Reader) (io.Reader, error) {
	var parts []string
	for _, part := range c.data {
		content, err := contentOf(part, stdin)
		if err != nil {
			return nil, err
		}
		if strings.HasPrefix(part, "@") {
			content = strings.NewReplacer("\r", "", "\n", "").Replace(content)
		}
		parts = append(parts, content)
	}
	parts = append(parts, c.rawData...)
	for _, part := range slices.Concat(c.binaryData, c.json) {
		content, err := contentOf(part, stdin)
		if err != nil {
			return nil, err
		}
		parts = append(parts, content)
	}
	if len(parts) == 0 {
		return nil, nil
	}
	return strings.NewReader(strings.Join(parts, "&")), nil
}

// contentOf is a text, the content of a file for @FILE, or of standard input for @-.
func contentOf(part string, stdin io.Reader) (string, error) {
	name, ok := strings.CutPrefix(part, "@")
	if !ok {
		return part, nil
	}
	if name == "-" {
		data, err := io.ReadAll(stdin)
		return string(data), err
	}
	data, err := os.ReadFile(name)
	return string(data), err
}
