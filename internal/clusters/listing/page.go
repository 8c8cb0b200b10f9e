package listing

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Page is what an answer to a list says beside its objects.
type Page struct {
	Version, Next string
	Items         int
}

// ReadPage hands the objects of an answer over one by one: an answer of tiny objects would take many times its size as a whole. An object
// is valid until each returns. most is how many there may be.
func ReadPage(answer io.Reader, most int, each func([]byte) error) (Page, error) {
	var out Page
	d := json.NewDecoder(answer)
	if err := reading(delimiter(d, '{')); err != nil {
		return Page{}, err
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return Page{}, reading(err)
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
			out.Version, out.Next = meta.ResourceVersion, meta.Continue
		default:
			var skipped json.RawMessage
			err = reading(d.Decode(&skipped))
		}
		if err != nil {
			return Page{}, err
		}
	}
	return out, reading(delimiter(d, '}')) // else the answer was cut
}

func (p *Page) readItems(d *json.Decoder, most int, each func([]byte) error) error {
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
		if p.Items++; p.Items > most {
			return ErrTooMany
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

// Capped reads so many bytes and fails with [ErrTooLarge] at the next one.
type Capped struct {
	Reader io.Reader
	Left   int64
}

// Read implements [io.Reader].
func (c *Capped) Read(p []byte) (int, error) {
	if c.Left <= 0 {
		return 0, ErrTooLarge
	}
	n, err := c.Reader.Read(p[:min(int64(len(p)), c.Left)])
	c.Left -= int64(n)
	return n, err
}
