package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/fsnotify/fsnotify"
	"github.com/rs/zerolog/log"
	"github.com/traefik/traefik/v3/pkg/config/dynamic"
	"github.com/traefik/traefik/v3/pkg/safe"
	traefiktls "github.com/traefik/traefik/v3/pkg/tls"
	"github.com/traefik/traefik/v3/pkg/types"
)

// defaultCertificate is the provider of the certificate for names that no Ingress and no Gateway has one for. Upstream's provider
// of files serves no HTTPS at all while a file is missing, and a volume of a Secret that may be missing has none.
type defaultCertificate struct {
	// Directory with the files tls.crt and tls.key (PEM), as a volume of a Secret has them.
	Directory string

	last pair
}

// pair are a certificate and its key, in PEM; empty where there are none.
type pair struct{ certificate, key []byte }

// Init is of the interface.
func (d *defaultCertificate) Init() error { return nil }

// Provide sends a configuration now and whenever the kubelet has replaced the files.
func (d *defaultCertificate) Provide(configurations chan<- dynamic.Message, pool *safe.Pool) error {
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		return fmt.Errorf("watch files: %w", err)
	}
	if err := watcher.Add(d.Directory); err != nil {
		return errors.Join(fmt.Errorf("watch %s: %w", d.Directory, err), watcher.Close())
	}
	pool.GoCtx(func(ctx context.Context) {
		defer watcher.Close()
		for {
			if err := d.send(ctx, configurations); err != nil {
				log.Error().Err(err).Msg("The default certificate stays as it was")
			}
			select {
			case <-ctx.Done():
				return
			case <-watcher.Events:
			case err := <-watcher.Errors:
				log.Error().Err(err).Str("directory", d.Directory).Msg("Watch the default certificate")
			}
		}
	})
	return nil
}

// send reads the files and sends what is new in them.
func (d *defaultCertificate) send(ctx context.Context, configurations chan<- dynamic.Message) error {
	now, err := readPair(d.Directory)
	if err != nil {
		return err
	}
	if bytes.Equal(now.certificate, d.last.certificate) && bytes.Equal(now.key, d.last.key) {
		return nil
	}
	select {
	case configurations <- dynamic.Message{ProviderName: "certificate", Configuration: now.configuration()}:
		d.last = now
	case <-ctx.Done():
	}
	return nil
}

// readPair returns an empty pair when neither file is there, and an error when they do not belong together: one of them may just
// have been replaced, after which the watcher reports again.
func readPair(directory string) (pair, error) {
	certificate, err := os.ReadFile(filepath.Join(directory, "tls.crt"))
	key, keyErr := os.ReadFile(filepath.Join(directory, "tls.key"))
	if errors.Is(err, fs.ErrNotExist) && errors.Is(keyErr, fs.ErrNotExist) {
		return pair{}, nil
	}
	if err := errors.Join(err, keyErr); err != nil {
		return pair{}, fmt.Errorf("read the default certificate: %w", err)
	}
	if _, err := tls.X509KeyPair(certificate, key); err != nil {
		return pair{}, fmt.Errorf("tls.crt and tls.key in %s: %w", directory, err)
	}
	return pair{certificate, key}, nil
}

// configuration is without a certificate for an empty pair: Traefik then serves one that it signs itself.
func (p pair) configuration() *dynamic.Configuration {
	store := traefiktls.Store{}
	if len(p.certificate) > 0 {
		store.DefaultCertificate = &traefiktls.Certificate{CertFile: types.FileOrContent(p.certificate), KeyFile: types.FileOrContent(p.key)}
	}
	return &dynamic.Configuration{
		HTTP: &dynamic.HTTPConfiguration{},
		TCP:  &dynamic.TCPConfiguration{},
		TLS:  &dynamic.TLSConfiguration{Stores: map[string]traefiktls.Store{traefiktls.DefaultTLSStoreName: store}},
	}
}
