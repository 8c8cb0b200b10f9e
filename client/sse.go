package client

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// maxEvent is how long an event of a stream may be, in bytes. What the admin plane keeps of an object is shorter.
const maxEvent = 4 << 20

var errLongEvent = errors.New("an event of the stream is longer than 4 MiB")

// sentEvent is one server-sent event, as the HTML standard has it.
type sentEvent struct {
	// name is its type, and id what a stream goes on from; both may be empty.
	name, id string
	data     []byte
}

// eventReader reads a stream of server-sent events. It is bounded by maxEvent, whatever comes. Lines end with LF or CRLF;
// CR alone, which the standard also knows, ends none.
type eventReader struct {
	from *bufio.Reader
	// alive is called for every line, comments too.
	alive func()
}

func newEventReader(from io.Reader, alive func()) *eventReader {
	return &eventReader{bufio.NewReaderSize(from, 32<<10), alive}
}

// next returns the next event that has data. The error is io.EOF at the end of the stream; an event that it cuts off is
// none.
func (r *eventReader) next() (sentEvent, error) {
	var e sentEvent
	size, some := 0, false
	for {
		line, err := r.line(maxEvent - size)
		if err != nil {
			return sentEvent{}, err
		}
		if len(line) == 0 {
			if some {
				return e, nil
			}
			e, size = sentEvent{id: e.id}, 0
			continue
		}
		size += len(line)
		field, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(field) {
		case "event":
			e.name = string(value)
		case "id":
			if !bytes.ContainsRune(value, 0) {
				e.id = string(value)
			}
		case "data":
			if some {
				e.data = append(e.data, '\n')
			}
			e.data, some = append(e.data, value...), true
		}
	}
}

// line returns a line without its end. It is valid until the next call.
func (r *eventReader) line(most int) ([]byte, error) {
	var whole []byte
	for {
		part, err := r.from.ReadSlice('\n')
		if len(whole)+len(part) > most {
			return nil, errLongEvent
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			whole = append(whole, part...)
			continue
		}
		if err != nil {
			return nil, err
		}
		r.alive()
		return bytes.TrimSuffix(bytes.TrimSuffix(append(whole, part...), []byte("\n")), []byte("\r")), nil
	}
}
