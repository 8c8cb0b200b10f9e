package s3

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"
)

const (
	dialTimeout = 10 * time.Second
	// answerTimeout is from the end of a request to the begin of its answer.
	answerTimeout = 30 * time.Second
	// requestTimeout bounds one request with all of its answer.
	requestTimeout = 2 * time.Minute
	idleTimeout    = 30 * time.Second
	// mostListed bounds one page of a list: a thousand names of a thousand bytes, and what is said of each.
	mostListed = 8 << 20
	// mostAnswer bounds every other answer: the largest is a manifest.
	mostAnswer = 65 << 20
)

// bounded makes requests that end, and reads no more than an answer may have.
type bounded struct{ next http.RoundTripper }

// RoundTrip is http.RoundTripper's.
func (b *bounded) RoundTrip(request *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithTimeoutCause(request.Context(), requestTimeout, fmt.Errorf("the server took more than %s", requestTimeout))
	answer, err := b.next.RoundTrip(request.WithContext(ctx))
	if err != nil {
		cancel()
		return nil, err
	}
	most := int64(mostAnswer)
	if request.URL.Query().Has("list-type") {
		most = mostListed
	}
	answer.Body = &body{answer.Body, cancel, most}
	return answer, nil
}

// body is that of an answer, which gives up its request when it is closed.
type body struct {
	io.ReadCloser
	cancel context.CancelFunc
	left   int64
}

func (b *body) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, fmt.Errorf("the server answers with more than can be meant")
	}
	n, err := b.ReadCloser.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}

func (b *body) Close() error {
	defer b.cancel()
	return b.ReadCloser.Close()
}
