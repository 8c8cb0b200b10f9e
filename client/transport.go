package client

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"kqueen.io/kqueen/api/rest"
)

// longestSocket is how long the path of a socket may be for every system's kernel.
const longestSocket = 100

// transport returns the URL that requests begin with, and how they get there.
func (c Connection) transport() (*url.URL, *http.Transport, error) {
	made := &http.Transport{MaxIdleConnsPerHost: 4, IdleConnTimeout: 90 * time.Second, MaxResponseHeaderBytes: 64 << 10}
	if path, ok := strings.CutPrefix(c.Server, "unix://"); ok {
		if !filepath.IsAbs(path) || len(c.CA) > 0 || c.CAPin != "" {
			return nil, nil, errors.New("server: a local socket must be an absolute path, such as unix:///var/lib/kqueen/api.sock, without ca and caPin")
		}
		made.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) { return dialSocket(ctx, path) }
		return &url.URL{Scheme: "http", Host: rest.LocalHost}, made, nil
	}
	base, err := parseServer(c.Server)
	if err != nil {
		return nil, nil, err
	}
	if made.TLSClientConfig, err = c.tlsConfig(); err != nil {
		return nil, nil, err
	}
	made.Proxy, made.ForceAttemptHTTP2 = http.ProxyFromEnvironment, true
	return base, made, nil
}

// dialSocket connects to a local socket, however long its path is: the kernel takes about a hundred bytes, and Linux has a
// short name for each folder that is open.
func dialSocket(ctx context.Context, path string) (net.Conn, error) {
	var dialer net.Dialer
	if len(path) <= longestSocket {
		return dialer.DialContext(ctx, "unix", path)
	}
	folder, err := os.Open(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	defer folder.Close()
	return dialer.DialContext(ctx, "unix", fmt.Sprintf("/proc/self/fd/%d/%s", folder.Fd(), filepath.Base(path)))
}
