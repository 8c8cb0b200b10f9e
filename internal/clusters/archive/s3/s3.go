// Package s3 keeps the files of backups in a bucket of an S3 server, below a prefix.
//
// It hides the library and its retries, and bounds what a server may cost that is slow, lies or is another one than was meant: each
// request has a deadline, each answer a size, and no redirection is followed. BackupStores use it.
package s3

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"path"
	"strings"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"kqueen.io/kqueen/internal/clusters/archive"
	"kqueen.io/kqueen/internal/platform/text"
)

// Config says where a bucket is, and by what it is reached.
type Config struct {
	// Endpoint is the URL of the server, such as https://s3.example.com, without a path.
	Endpoint string
	Region   string
	Bucket   string
	// Prefix is before the names of all files, without "/" at its ends. It may be empty.
	Prefix string
	// CABundle has the authorities that sign the server's certificate, in PEM; those that the system trusts when it is empty.
	CABundle string
	// SessionToken is empty for credentials that do not end.
	AccessKeyID, SecretAccessKey, SessionToken string
	// Dial connects with HOST:PORT, where it may.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// Bucket is a folder of a bucket. It is an archive.Bucket.
type Bucket struct {
	client *minio.Client
	http   *http.Transport
	bucket string
	// prefix is before the names of all files: empty, or with "/" at its end.
	prefix string
}

const (
	// attempts is how often a request is made, when it fails in a way that may pass.
	attempts = 4
	// mostNames is more than any folder of backups has.
	mostNames = 4 << 20
)

// Open prepares a folder of a bucket; nothing is asked yet. The caller closes it.
func Open(c Config, folder string) (*Bucket, error) {
	endpoint, err := url.Parse(c.Endpoint)
	if err != nil || endpoint.Host == "" || endpoint.Scheme != "https" && endpoint.Scheme != "http" {
		return nil, fmt.Errorf("endpoint: %.100q is no URL of a server, such as https://s3.example.com", c.Endpoint)
	}
	if !fs.ValidPath(folder) {
		return nil, fmt.Errorf("%.100q is no folder", folder)
	}
	var roots *x509.CertPool
	if c.CABundle != "" {
		if roots = x509.NewCertPool(); !roots.AppendCertsFromPEM([]byte(c.CABundle)) {
			return nil, errors.New("caBundle: there is no certificate in it that can be read; want certificates in PEM")
		}
	}
	transport := &http.Transport{
		DialContext:            c.Dial,
		TLSClientConfig:        &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:    dialTimeout,
		ResponseHeaderTimeout:  answerTimeout,
		MaxResponseHeaderBytes: 64 << 10,
		IdleConnTimeout:        idleTimeout,
		DisableCompression:     true,
	}
	client, err := minio.New(endpoint.Host, &minio.Options{
		Creds:  credentials.NewStaticV4(c.AccessKeyID, c.SecretAccessKey, c.SessionToken),
		Secure: endpoint.Scheme == "https", Region: c.Region, Transport: &bounded{transport}, MaxRetries: attempts,
	})
	if err != nil {
		return nil, fmt.Errorf("endpoint: %w", err)
	}
	prefix := path.Join(c.Prefix, folder) + "/"
	if prefix == "./" {
		prefix = ""
	}
	return &Bucket{client: client, http: transport, bucket: c.Bucket, prefix: prefix}, nil
}

// Close lets connections go.
func (b *Bucket) Close() error {
	b.http.CloseIdleConnections()
	return nil
}

// Put implements archive.Bucket. A server has a file as a whole or not at all.
func (b *Bucket) Put(ctx context.Context, name string, data []byte) error {
	return b.put(ctx, name, data, minio.PutObjectOptions{})
}

func (b *Bucket) put(ctx context.Context, name string, data []byte, options minio.PutObjectOptions) error {
	if !fs.ValidPath(name) {
		return fmt.Errorf("%.100q is no name of a file", name)
	}
	options.DisableMultipart, options.SendContentMd5 = true, true
	options.ContentType = "application/octet-stream"
	_, err := b.client.PutObject(ctx, b.bucket, b.prefix+name, bytes.NewReader(data), int64(len(data)), options)
	return b.explain("write", name, err)
}

// Get implements archive.Bucket.
func (b *Bucket) Get(ctx context.Context, name string, most int64) ([]byte, error) {
	core := minio.Core{Client: b.client}
	body, _, _, err := core.GetObject(ctx, b.bucket, b.prefix+name, minio.GetObjectOptions{})
	if err != nil {
		return nil, b.explain("read", name, err)
	}
	defer func() { _ = body.Close() }()
	data, err := io.ReadAll(io.LimitReader(body, most+1))
	if err != nil {
		return nil, b.explain("read", name, err)
	}
	if int64(len(data)) > most {
		return nil, &archive.DamagedError{Problem: fmt.Sprintf("%s has more than %d bytes", name, most)}
	}
	return data, nil
}

// List implements archive.Bucket. What has another name than a file of backups is not told.
func (b *Bucket) List(ctx context.Context, folder string) ([]string, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // ends what is still listed
	below := b.prefix
	if folder != "." {
		below += folder + "/"
	}
	var names []string
	for object := range b.client.ListObjectsIter(ctx, b.bucket, minio.ListObjectsOptions{Prefix: below, Recursive: true}) {
		if object.Err != nil {
			return nil, b.explain("list", folder, object.Err)
		}
		name, found := strings.CutPrefix(object.Key, b.prefix)
		if !found || !strings.HasPrefix(object.Key, below) {
			return nil, fmt.Errorf("list %s in bucket %s: the server tells of files elsewhere", folder, b.bucket)
		}
		if !fs.ValidPath(name) || strings.HasPrefix(path.Base(name), ".") {
			continue
		}
		if names = append(names, name); len(names) > mostNames {
			return nil, fmt.Errorf("list %s in bucket %s: there are more than %d files", folder, b.bucket, mostNames)
		}
	}
	return names, nil
}

// Delete implements archive.Bucket.
func (b *Bucket) Delete(ctx context.Context, name string) error {
	err := b.explain("delete", name, b.client.RemoveObject(ctx, b.bucket, b.prefix+name, minio.RemoveObjectOptions{}))
	if errors.Is(err, archive.ErrNotFound) {
		return nil
	}
	return err
}

// explain says in one short line what a server answered, whose words may be of any kind.
func (b *Bucket) explain(act, name string, err error) error {
	if err == nil {
		return nil
	}
	answer, ok := errors.AsType[minio.ErrorResponse](err)
	if !ok {
		if call, is := errors.AsType[*url.Error](err); is {
			err = call.Err
		}
		return fmt.Errorf("%s %s in bucket %s: %w", act, name, b.bucket, err)
	}
	if answer.Code == minio.NoSuchKey {
		return archive.ErrNotFound
	}
	return &answerError{answer, fmt.Sprintf("%s %s in bucket %s: the server answers %d %s: %s", act, name, b.bucket,
		answer.StatusCode, brief(answer.Code, 60), brief(answer.Message, 200))}
}

func brief(words string, most int) string { return text.CutLetters(text.Line(words), most) }

// answerError is what a server answered.
type answerError struct {
	answer minio.ErrorResponse
	words  string
}

func (e *answerError) Error() string { return e.words }
