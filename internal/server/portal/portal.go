// Package portal serves the web portal: files that run in browsers and call the REST API like every other client, with the session of
// the sign-in pages as their cookie. There is nothing here that the REST API does not have.
//
// It hides that the files are kept compressed, and what browsers are told of them.
package portal

import (
	"compress/gzip"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strings"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/internal/server/chain"
	"kqueen.io/kqueen/internal/server/problem"
)

// policy lets the portal load from this server alone. Styles are allowed inline, because the editor and the terminal insert elements of
// their own; scripts are not.
const policy = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; font-src 'self'; img-src 'self' data:; " +
	"connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'"

//go:embed unbuilt.html
var unbuilt []byte

// Register serves the files of the portal to all: they are the same for each user, and what has no ending is one page. See package web for how files are named.
func Register(mux *http.ServeMux, files fs.FS) {
	s := &server{files}
	mux.HandleFunc("GET "+rest.PortalPath+"{path...}", s.serve)
}

type server struct{ files fs.FS }

func (s *server) serve(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Referrer-Policy", "same-origin")
	name := r.PathValue("path")
	if strings.HasPrefix(name, "assets/") {
		if !s.answer(w, r, name) {
			// A page of another version of KQueen asks for it.
			h.Del("Cache-Control")
			chain.WriteProblem(w, r, problem.NotFound())
		}
		return
	}
	if path.Ext(name) != "" && s.answer(w, r, name) {
		return
	}
	if !s.answer(w, r, "index.html") {
		h.Set("Content-Type", "text/html; charset=utf-8")
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = w.Write(unbuilt)
	}
}

// answer answers with a file, and says whether there is one.
func (s *server) answer(w http.ResponseWriter, r *http.Request, name string) bool {
	if !fs.ValidPath(name) {
		return false
	}
	compressed := true
	f, err := s.files.Open(name + ".gz")
	if errors.Is(err, fs.ErrNotExist) {
		compressed = false
		f, err = s.files.Open(name)
	}
	if err != nil {
		return false
	}
	defer f.Close()
	if about, err := f.Stat(); err != nil || about.IsDir() {
		return false
	}
	h := w.Header()
	h.Set("Content-Type", mediaType(name))
	h.Set("Cache-Control", cacheControl(name))
	h.Add("Vary", "Accept-Encoding")
	if err := send(w, r, f, compressed); err != nil {
		chain.Of(r.Context()).Failure = fmt.Errorf("send %s: %w", name, err)
	}
	return true
}

// mediaType does not depend on what the host knows of fonts. It is pure otherwise.
func mediaType(name string) string {
	if path.Ext(name) == ".woff2" {
		return "font/woff2"
	}
	return mime.TypeByExtension(path.Ext(name))
}

// cacheControl lets browsers keep what has a digest in its name for ever. It is pure.
func cacheControl(name string) string {
	if strings.HasPrefix(name, "assets/") {
		return "public, max-age=31536000, immutable"
	}
	return "no-cache"
}

func send(w http.ResponseWriter, r *http.Request, f io.Reader, compressed bool) error {
	if compressed && acceptsGzip(r.Header.Get("Accept-Encoding")) {
		w.Header().Set("Content-Encoding", "gzip")
		compressed = false
	}
	if compressed {
		unpacked, err := gzip.NewReader(f)
		if err != nil {
			return err
		}
		f = unpacked
	}
	_, err := io.Copy(w, f)
	return err
}

// acceptsGzip reads Accept-Encoding (RFC 9110, section 12.5.3). It is pure.
func acceptsGzip(header string) bool {
	for entry := range strings.SplitSeq(header, ",") {
		coding, weight, _ := strings.Cut(strings.TrimSpace(entry), ";")
		weight = strings.ReplaceAll(weight, " ", "")
		if coding == "gzip" && weight != "q=0" && weight != "q=0.0" {
			return true
		}
	}
	return false
}
