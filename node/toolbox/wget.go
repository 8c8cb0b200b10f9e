package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/spf13/pflag"
)

// wget has the options of busybox's, and those of GNU's that scripts set.
type wget struct {
	connection

	quiet, spider, answer  bool
	output, log, folder    string
	method, data, dataFile string
	agent, proxies         string
	headers, urls          []string
	silence                time.Duration // without a byte, after which the server has failed
}

func parseWget(args []string) (wget, error) {
	w := wget{connection: connection{network: "tcp", follow: true}}
	f := pflag.NewFlagSet("wget", pflag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.BoolVarP(&w.quiet, "quiet", "q", false, "print nothing but errors")
	f.BoolVar(&w.spider, "spider", false, "only ask whether it is there")
	f.BoolVarP(&w.answer, "server-response", "S", false, "print the headers of the answer")
	f.StringVarP(&w.output, "output-document", "O", "", "write to `FILE`, - for standard output")
	f.StringVarP(&w.log, "output-file", "o", "", "write messages to `FILE`")
	f.StringVarP(&w.folder, "directory-prefix", "P", ".", "write into `DIR`")
	f.StringVar(&w.method, "method", "", "HTTP `METHOD`")
	f.StringVar(&w.data, "post-data", "", "send `STRING` by POST")
	f.StringVar(&w.dataFile, "post-file", "", "send `FILE` by POST")
	f.StringVarP(&w.agent, "user-agent", "U", "Wget", "say to be `AGENT`")
	f.StringVarP(&w.proxies, "proxy", "Y", "on", "use the proxies of the environment: `on/off`")
	f.StringArrayVar(&w.headers, "header", nil, "send `HEADER`, as in \"Name: value\"; can be repeated")
	f.BoolVar(&w.insecure, "no-check-certificate", false, "do not verify the server's certificate")
	f.StringVar(&w.ca, "ca-certificate", "", "verify the server's certificate by those in `FILE`")
	silence := f.Float64P("timeout", "T", 900, "fail after so many `SECONDS` without a byte")
	f.IntP("tries", "t", 1, "taken, and without effect: each URL is asked for once")
	if err := f.Parse(args); err != nil {
		return wget{}, withUsage(f, "wget [OPTION...] URL...", err)
	}
	if w.urls = f.Args(); len(w.urls) == 0 {
		return wget{}, withUsage(f, "wget [OPTION...] URL...", errors.New("name a URL"))
	}
	w.silence, w.direct = seconds(*silence), w.proxies == "off"
	return w, nil
}

// withUsage is an error with which the user sees what would be right.
func withUsage(f *pflag.FlagSet, line string, err error) error {
	if errors.Is(err, pflag.ErrHelp) {
		return fmt.Errorf("usage: %s\n%s", line, f.FlagUsages())
	}
	return fmt.Errorf("%w; see %s --help", err, f.Name())
}

// runWget ends with status 1 where anything failed, as busybox does.
func runWget(ctx context.Context, args []string, s streams) int {
	err := func() error {
		w, err := parseWget(args)
		if err != nil {
			return err
		}
		if w.log != "" {
			log, err := os.Create(w.log)
			if err != nil {
				return err
			}
			defer log.Close()
			s.err = log
		}
		client, err := w.client()
		if err != nil {
			return err
		}
		for _, url := range w.urls {
			if err := w.get(ctx, client, url, s); err != nil {
				return err
			}
		}
		return nil
	}()
	if err != nil {
		fmt.Fprintln(s.err, "wget:", err)
		return 1
	}
	return 0
}

// get fetches one URL.
func (w wget) get(ctx context.Context, client *http.Client, url string, s streams) error {
	ctx, watch := whileBytesCome(ctx, w.silence)
	defer watch.stop()
	explain := func(err error) error {
		if why := failureOf(ctx, err); why.status != statusTimeout {
			return why.err
		}
		return errors.New("download timed out")
	}
	body, err := w.body()
	if err != nil {
		return err
	}
	request, err := newRequest(ctx, w.methodFor(body), url, w.headers, body)
	if err != nil {
		return err
	}
	setMissing(request.Header, "User-Agent", w.agent)
	if body != nil {
		setMissing(request.Header, "Content-Type", "application/x-www-form-urlencoded")
	}
	response, err := client.Do(request) //nolint:gosec // the user names the URL
	if err != nil {
		return explain(err)
	}
	defer response.Body.Close()
	if w.answer {
		fmt.Fprint(prefixed{&sync.Mutex{}, s.err, "  "}, headOf(response))
	}
	if response.StatusCode >= http.StatusBadRequest {
		return fmt.Errorf("server returned error: %s %s", response.Proto, response.Status)
	}
	if w.spider {
		return nil
	}
	if err := w.save(response, watch.reader(response.Body), s); err != nil {
		return explain(err)
	}
	return nil
}

func (w wget) methodFor(body io.Reader) string {
	switch {
	case w.method != "":
		return w.method
	case w.spider:
		return http.MethodHead
	case body != nil:
		return http.MethodPost
	}
	return http.MethodGet
}

// body is nil where nothing is sent.
func (w wget) body() (io.Reader, error) {
	if w.dataFile == "" {
		if w.data == "" {
			return nil, nil
		}
		return strings.NewReader(w.data), nil
	}
	data, err := os.ReadFile(w.dataFile)
	return bytes.NewReader(data), err
}

// save writes an answer into the file that the options or, without them, the URL names.
func (w wget) save(response *http.Response, content io.Reader, s streams) error {
	if w.output == "-" {
		_, err := io.Copy(s.out, content)
		return err
	}
	name := w.output
	if name == "" {
		name = filepath.Join(w.folder, nameIn(response.Request.URL.Path, "index.html"))
	}
	size, err := saveTo(name, content)
	if err == nil && !w.quiet {
		fmt.Fprintf(s.err, "'%s' saved, %d bytes\n", name, size)
	}
	return err
}
