package collector

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// page is what an answer to a list says beside its objects.
type page struct {
	version, next string
	items         int
}

// readPage hands the objects of an answer over one by one: an answer of tiny objects would take many times its size as a whole. An object
// is valid until each returns. most is how many there may be.
func readPage(answer io.Reader, most int, each func([]byte) error) (page, error) {
	var out page
	d := json.NewDecoder(answer)
	if err := reading(delimiter(d, '{')); err != nil {
		return page{}, err
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return page{}, reading(err)
		}
		switch key {
		case "items":
			err = out.readItems(d, most, each)
		case "metadata":
			var meta struct {
				ResourceVersion string `json:"resourceVersion"`
				Continue        string `json:"continue"`
			}
			err = reading(d.Decode(&meta))
			out.version, out.next = meta.ResourceVersion, meta.Continue
		default:
			var skipped json.RawMessage
			err = reading(d.Decode(&skipped))
		}
		if err != nil {
			return page{}, err
		}
	}
	return out, reading(delimiter(d, '}')) // else the answer was cut
}

func (p *page) readItems(d *json.Decoder, most int, each func([]byte) error) error {
	first, err := d.Token()
	if err != nil {
		return reading(err)
	}
	if first == nil {
		return nil // a list of none may be null
	}
	if first != json.Delim('[') {
		return reading(errNotAList)
	}
	var item json.RawMessage
	for d.More() {
		if err := d.Decode(&item); err != nil {
			return reading(err)
		}
		if p.items++; p.items > most {
			return errTooMany
		}
		if err := each(item); err != nil {
			return err
		}
	}
	return reading(delimiter(d, ']'))
}

var errNotAList = errors.New("the answer is not a list")

func delimiter(d *json.Decoder, want json.Delim) error {
	got, err := d.Token()
	if err == nil && got != want {
		err = errNotAList
	}
	return err
}

// reading says of an error what was done.
func reading(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("read list: %w", err)
}
