package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"strconv"
	"strings"
	"sync"
	"time"
)

// runCurl fetches the URLs one after the other, and ends with the status of the last one that failed.
func runCurl(ctx context.Context, args []string, s streams) int {
	c, err := parseCurl(args)
	if err == nil {
		c.network, err = c.addressFamily()
	}
	if err != nil {
		fmt.Fprintln(s.err, "curl:", err)
		return statusUsage
	}
	client, err := c.client()
	if err != nil {
		fmt.Fprintln(s.err, "curl:", err)
		return statusUsage
	}
	if c.limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.limit)
		defer cancel()
	}
	status := 0
	for _, url := range c.urls {
		why := c.get(ctx, client, url, s)
		if why.err != nil && (!c.silent || c.showErrors) {
			fmt.Fprintf(s.err, "curl: (%d) %v\n", why.status, why.err)
		}
		status = max(status, why.status)
	}
	return status
}

// get fetches one URL, and prints what -w asks for however it ended.
func (c curl) get(ctx context.Context, client *http.Client, url string, s streams) failure {
	begin := time.Now()
	var did exchange
	why := c.exchange(ctx, client, url, s, &did)
	if c.writeOut != "" {
		fmt.Fprint(s.out, did.describe(c.writeOut, time.Since(begin)))
	}
	return why
}

// exchange is what -w can tell.
type exchange struct {
	code       int
	size       int64
	remote     string
	url, media string
}

func (e exchange) describe(format string, took time.Duration) string {
	code := fmt.Sprintf("%03d", e.code)
	return strings.NewReplacer(`\n`, "\n", `\t`, "\t", `\r`, "\r", "%%", "%",
		"%{http_code}", code, "%{response_code}", code, "%{content_type}", e.media, "%{url_effective}", e.url, "%{remote_ip}", e.remote,
		"%{size_download}", strconv.FormatInt(e.size, 10), "%{time_total}", fmt.Sprintf("%.6f", took.Seconds()),
	).Replace(format)
}

func (c curl) exchange(ctx context.Context, client *http.Client, url string, s streams, did *exchange) failure {
	body, err := c.body(s.in)
	if err != nil {
		return failure{statusUsage, err}
	}
	talk := prefixed{&sync.Mutex{}, io.Discard, ""}
	if c.verbose {
		talk.to = s.err
	}
	request, err := newRequest(httptrace.WithClientTrace(ctx, c.trace(talk, did)), c.methodFor(body), url, c.headers, body)
	if err != nil {
		return failure{statusURL, err}
	}
	c.complete(request, body != nil)
	response, err := client.Do(request) //nolint:gosec // the user names the URL
	if err != nil {
		return failureOf(ctx, err)
	}
	defer response.Body.Close()
	did.code, did.media, did.url = response.StatusCode, response.Header.Get("Content-Type"), response.Request.URL.String()
	fmt.Fprint(talk.with("< "), headOf(response))
	if c.failEarly && response.StatusCode >= http.StatusBadRequest {
		return failure{statusHTTP, fmt.Errorf("the requested URL returned error: %d", response.StatusCode)}
	}
	return c.print(ctx, response, s, did)
}

// complete sets what options other than -H say of a request; a header of -H counts more.
func (c curl) complete(request *http.Request, hasBody bool) {
	setMissing(request.Header, "User-Agent", c.agent)
	setMissing(request.Header, "Accept", "*/*")
	if hasBody {
		setMissing(request.Header, "Content-Type", c.media())
	}
	if user, password, _ := strings.Cut(c.user, ":"); c.user != "" {
		request.SetBasicAuth(user, password)
	}
}

// print writes the answer to where the options say.
func (c curl) print(ctx context.Context, response *http.Response, s streams, did *exchange) failure {
	content := io.Reader(response.Body)
	if c.include || c.head {
		content = io.MultiReader(strings.NewReader(headOf(response)), content)
	}
	name := c.output
	if c.remoteName {
		if name = nameIn(response.Request.URL.Path, ""); name == "" {
			return failure{statusWrite, errors.New("the URL ends in no name of a file: name one with -o")}
		}
	}
	var err error
	if name == "" || name == "-" {
		did.size, err = io.Copy(s.out, content)
	} else {
		did.size, err = saveTo(name, content)
	}
	if err != nil {
		return failureOf(ctx, err)
	}
	return failure{}
}

// trace tells of the connection and of what is sent.
func (c curl) trace(talk prefixed, did *exchange) *httptrace.ClientTrace {
	note, sent := talk.with("* "), talk.with("> ")
	return &httptrace.ClientTrace{
		DNSDone: func(found httptrace.DNSDoneInfo) {
			for _, address := range found.Addrs {
				fmt.Fprintf(note, "Resolved to %s\n", address.String())
			}
		},
		ConnectStart: func(_, address string) { fmt.Fprintf(note, "Trying %s...\n", address) },
		TLSHandshakeDone: func(state tls.ConnectionState, err error) {
			if err != nil {
				fmt.Fprintf(note, "TLS: %v\n", err)
				return
			}
			leaf := state.PeerCertificates[0]
			fmt.Fprintf(note, "%s, %s\nServer certificate: %s, issuer %s, expires %s\n", tls.VersionName(state.Version),
				tls.CipherSuiteName(state.CipherSuite), leaf.Subject, leaf.Issuer, leaf.NotAfter.UTC().Format(time.RFC3339))
		},
		GotConn: func(got httptrace.GotConnInfo) {
			did.remote, _, _ = net.SplitHostPort(got.Conn.RemoteAddr().String())
			fmt.Fprintf(note, "Connected to %s\n", got.Conn.RemoteAddr())
		},
		WroteHeaderField: func(name string, values []string) { fmt.Fprintf(sent, "%s: %s\n", name, strings.Join(values, ", ")) },
	}
}
