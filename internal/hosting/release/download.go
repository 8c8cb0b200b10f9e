package release

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

const (
	maxRedirects = 10
	maxSumFile   = 1 << 10 // bytes; a hash is 64
)

// downloader fetches the programs of one version, each into its own file.
type downloader struct {
	client  *http.Client
	base    *url.URL
	pins    map[string]string
	version Version
	max     int64         // bytes of one program
	timeout time.Duration // of one program
}

func newDownloader(s *Store, v Version, src *Download) (*downloader, error) {
	base, err := src.base()
	if err != nil {
		return nil, err
	}
	return &downloader{
		client: s.client, base: base, pins: src.SHA256, version: v,
		max: s.maxDownload, timeout: s.downloadTimeout,
	}, nil
}

// origin of a pinned download is the same from every server: the hashes decide.
func (d *downloader) origin() Origin {
	sum := sha256.New()
	fmt.Fprintf(sum, "%s\x00", runtime.GOARCH)
	if len(d.pins) == 0 {
		fmt.Fprintf(sum, "%s\x00", d.base.Redacted())
	}
	for _, component := range sortedKeys(d.pins) {
		fmt.Fprintf(sum, "%s\x00%s\x00", component, strings.ToLower(d.pins[component]))
	}
	return Origin{Kind: originDownload, From: d.base.Redacted(), Fingerprint: hex.EncodeToString(sum.Sum(nil))}
}

func (d *downloader) build(ctx context.Context, dir string, report func(Step)) (made, error) {
	components := map[string]Component{}
	for _, name := range Components {
		got, err := d.component(ctx, name, dir, report)
		if err != nil {
			return made{}, fmt.Errorf("download %s: %w", name, err)
		}
		components[name] = got
	}
	return made{files: components}, nil
}

func (d *downloader) component(ctx context.Context, name, dir string, report func(Step)) (Component, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, d.timeout,
		fmt.Errorf("not done after %s: %w", d.timeout, context.DeadlineExceeded))
	defer cancel()
	from := d.base.JoinPath(d.version.String(), "bin", "linux", runtime.GOARCH, name)
	report(Step{Name: "download " + name, Unit: "bytes"})
	want, err := d.wantedHash(ctx, name, from)
	if err != nil {
		return Component{}, err
	}
	got, err := d.fetch(ctx, from, filepath.Join(dir, name), &progress{name: "download " + name, report: report})
	if err != nil {
		return Component{}, err
	}
	if got.SHA256 != want {
		return Component{}, fmt.Errorf("%s has the hash %s instead of %s: it is damaged or not what was pinned",
			from.Redacted(), got.SHA256, want)
	}
	return got, nil
}

func (d *downloader) wantedHash(ctx context.Context, name string, from *url.URL) (string, error) {
	if pin, ok := d.pins[name]; ok {
		return strings.ToLower(pin), nil
	}
	sumURL := *from
	sumURL.Path, sumURL.RawPath = from.Path+".sha256", ""
	resp, err := d.get(ctx, &sumURL)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	content, err := io.ReadAll(io.LimitReader(resp.Body, maxSumFile))
	if err != nil {
		return "", bodyError(ctx, &sumURL, err)
	}
	// Upstream writes the hash alone, sha256sum adds the name of the file.
	first, _, _ := bytes.Cut(bytes.TrimSpace(content), []byte(" "))
	sum, ok := parseSHA256(string(first))
	if !ok {
		return "", fmt.Errorf("%s is not a SHA-256 hash: pin the hashes, or mend the file", sumURL.Redacted())
	}
	return sum, nil
}

// fetch streams one program to a new file and to its hash.
func (d *downloader) fetch(ctx context.Context, from *url.URL, to string, seen *progress) (Component, error) {
	resp, err := d.get(ctx, from)
	if err != nil {
		return Component{}, err
	}
	defer resp.Body.Close()
	tooLarge := fmt.Errorf("%s is larger than the allowed %d bytes: it is no program of Kubernetes", from.Redacted(), d.max)
	if resp.ContentLength > d.max {
		return Component{}, tooLarge
	}
	file, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755)
	if err != nil {
		return Component{}, fmt.Errorf("create file: %w", err)
	}
	defer file.Close() // again after errors
	sum := sha256.New()
	seen.start, seen.total = time.Now(), max(resp.ContentLength, 0)
	size, err := io.Copy(io.MultiWriter(file, sum, seen), io.LimitReader(resp.Body, d.max+1))
	switch {
	case err != nil:
		return Component{}, bodyError(ctx, from, err)
	case size > d.max:
		return Component{}, tooLarge
	}
	if err := errors.Join(file.Sync(), file.Close()); err != nil {
		return Component{}, fmt.Errorf("write file: %w", err)
	}
	return Component{SHA256: hex.EncodeToString(sum.Sum(nil)), Size: size}, nil
}

func (d *downloader) get(ctx context.Context, from *url.URL) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, from.String(), nil)
	if err != nil {
		return nil, fmt.Errorf("ask for %s: %w", from.Redacted(), err)
	}
	// The hash and the length are those of the file itself.
	req.Header.Set("Accept-Encoding", "identity")
	resp, err := d.client.Do(req)
	if err != nil {
		return nil, bodyError(ctx, from, err)
	}
	switch resp.StatusCode {
	case http.StatusOK:
		return resp, nil
	case http.StatusNotFound:
		err = fmt.Errorf("%s is not there (404): the server has no %s for linux/%s, choose another version or base URL",
			from.Redacted(), d.version, runtime.GOARCH)
	default:
		err = fmt.Errorf("%s answers %q", from.Redacted(), resp.Status)
	}
	return nil, errors.Join(err, resp.Body.Close())
}

// bodyError says why a transfer ended: our own deadline or cancellation comes first,
// because what the network reports then is only its echo.
func bodyError(ctx context.Context, from *url.URL, err error) error {
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return fmt.Errorf("read %s: %w", from.Redacted(), err)
}

// sameScheme keeps a redirect from leading out of TLS, or anywhere odd.
func sameScheme(req *http.Request, via []*http.Request) error {
	if len(via) >= maxRedirects {
		return fmt.Errorf("stopped after %d redirects", maxRedirects)
	}
	if first := via[0].URL.Scheme; req.URL.Scheme != first {
		return fmt.Errorf("redirect from %s to %s refused: use the %s address as base URL", first, req.URL.Scheme, req.URL.Scheme)
	}
	return nil
}

// progress counts what goes by and reports it from time to time.
type progress struct {
	name        string
	report      func(Step)
	start, last time.Time
	done, total int64
}

func (p *progress) Write(data []byte) (int, error) {
	p.done += int64(len(data))
	if time.Since(p.last) >= reportEvery || p.done == p.total {
		p.last = time.Now()
		p.report(Step{Name: p.name, Elapsed: time.Since(p.start), Done: p.done, Total: p.total, Unit: "bytes"})
	}
	return len(data), nil
}
