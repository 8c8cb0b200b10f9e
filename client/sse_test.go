package client

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func readEvents(from io.Reader) (all []sentEvent, lines int, err error) {
	r := newEventReader(from, func() { lines++ })
	for {
		e, err := r.next()
		if err != nil {
			return all, lines, err
		}
		all = append(all, e)
	}
}

func TestServerSentEvents(t *testing.T) {
	tests := map[string]struct {
		reason string
		in     string
		want   []sentEvent
	}{
		"Whole":        {"", "event: added\nid: 7\ndata: {}\n\n", []sentEvent{{"added", "7", []byte("{}")}}},
		"CarriageToo":  {"", "event: added\r\nid: 7\r\ndata: {}\r\n\r\n", []sentEvent{{"added", "7", []byte("{}")}}},
		"SeveralLines": {"They are joined by a line end.", "data: a\ndata:b\ndata\n\n", []sentEvent{{"", "", []byte("a\nb\n")}}},
		"OneSpace":     {"Only the first space is no part of the value.", "data:  a\n\n", []sentEvent{{"", "", []byte(" a")}}},
		"Comment":      {"A comment says that the stream lives.", ": alive\n\nevent: x\ndata: 1\n\n", []sentEvent{{"x", "", []byte("1")}}},
		"NoData":       {"An event without data is none; its id counts.", "id: 3\nevent: x\n\ndata: 1\n\n", []sentEvent{{"", "3", []byte("1")}}},
		"CutOff":       {"What the end of the stream cuts off is none.", "data: 1\n\ndata: 2\n", []sentEvent{{"", "", []byte("1")}}},
		"OtherFields":  {"", "retry: 10\nfoo: bar\nfoo\ndata: 1\n\n", []sentEvent{{"", "", []byte("1")}}},
		"ZeroInID":     {"An id with U+0000 is ignored.", "id: a\x00b\ndata: 1\n\n", []sentEvent{{"", "", []byte("1")}}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, _, err := readEvents(strings.NewReader(tc.in))
			if !errors.Is(err, io.EOF) {
				t.Errorf("%s the error is %v, want EOF", tc.reason, err)
			}
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(sentEvent{})); diff != "" {
				t.Errorf("%s -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// endless is a line that does not end.
type endless struct{ begin io.Reader }

func (e endless) Read(p []byte) (int, error) {
	if n, err := e.begin.Read(p); err == nil {
		return n, nil
	}
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

func TestServerSentEventsAreBounded(t *testing.T) {
	for name, from := range map[string]io.Reader{
		"Line":  endless{strings.NewReader("data: ")},
		"Event": strings.NewReader(strings.Repeat("data: "+strings.Repeat("x", 1000)+"\n", maxEvent/1000+1)),
	} {
		if _, _, err := readEvents(from); !errors.Is(err, errLongEvent) {
			t.Errorf("%s: the error is %v", name, err)
		}
	}
	long := "data: " + strings.Repeat("x", 100<<10) + "\n\n"
	if got, _, _ := readEvents(strings.NewReader(long)); len(got) != 1 || len(got[0].data) != 100<<10 {
		t.Errorf("an event of 100 KiB is read as %d events", len(got))
	}
}

// FuzzServerSentEvents reads what was not promised. Nothing is read that is not there, and reading in pieces is the same.
func FuzzServerSentEvents(f *testing.F) {
	for _, seed := range []string{"event: added\nid: 1\ndata: {}\n\n", ": alive\n\n", "data\r\n\r\n", "id:\x00\ndata:1\n\n", "\n\n\n", "data: 1"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		whole, lines, err := readEvents(bytes.NewReader(data))
		if !errors.Is(err, io.EOF) {
			t.Fatalf("the end is %v", err)
		}
		if want := bytes.Count(data, []byte("\n")); lines != want {
			t.Errorf("%d lines are read, of %d", lines, want)
		}
		size := 0
		for _, e := range whole {
			size += len(e.data)
			_, _ = decodeEvent(e)
		}
		if size > len(data) {
			t.Errorf("%d bytes of data are read from %d", size, len(data))
		}
		pieces, _, _ := readEvents(byOne{bytes.NewReader(data)})
		if diff := cmp.Diff(whole, pieces, cmp.AllowUnexported(sentEvent{})); diff != "" {
			t.Errorf("in pieces it is another stream: -whole +pieces\n%s", diff)
		}
	})
}

// byOne hands on one byte at a time.
type byOne struct{ from io.Reader }

func (b byOne) Read(p []byte) (int, error) { return b.from.Read(p[:min(1, len(p))]) }
