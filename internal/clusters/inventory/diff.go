package inventory

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// wanted are changes that fit.
type wanted struct {
	whole []Kind
	set   map[Key]Item
	gone  map[Key]bool
}

// hash names content: equal content has equal hashes.
type hash [sha256.Size]byte

func hashOf(parts ...string) hash { return sha256.Sum256([]byte(strings.Join(parts, "\x00"))) }

// entry is an item as it is kept: its content apart from its key, and what is kept once for many items.
type entry struct {
	key     Key
	body    string
	content hash
	// subject is the hash of the image of a container and of the binary of a component, and else zero.
	subject hash
	image   Image
	binary  binary
	node    string
}

// binary is a version of a component.
type binary struct {
	component, version string
	managed            bool
}

// entryOf takes an item apart. The node and the image of a container are kept apart from the rest, of which there are few.
func entryOf(item Item) (entry, error) {
	out := entry{key: item.Key}
	switch {
	case item.Container != nil:
		own := *item.Container
		out.node, out.image = own.Node, own.Image
		own.Node, own.Image = "", Image{}
		item.Container = &own
		i := out.image
		out.subject = hashOf(i.Reference, i.Repository, i.Tag, i.Digest)
	case item.Component != nil:
		out.binary = binary{component: item.Key.Part, version: item.Component.Version, managed: item.Component.Managed}
		out.subject = hashOf(out.binary.component, out.binary.version, fmt.Sprint(out.binary.managed))
	}
	raw, err := json.Marshal(item.payload().value())
	if err != nil {
		return out, fmt.Errorf("write %s %s: %w", item.Key.Kind, item.Key.Name, err)
	}
	// PostgreSQL refuses NUL in texts, and JSON writes it as letters.
	out.body = string(raw)
	out.content = hashOf(string(item.Key.Kind), out.body)
	return out, nil
}

// itemOf is the inverse of entryOf.
func itemOf(key Key, body string, image Image, node string) (Item, error) {
	item := Item{Key: key}
	if err := json.Unmarshal([]byte(body), item.payload().value()); err != nil {
		return item, fmt.Errorf("read %s %s: %w", key.Kind, key.Name, err)
	}
	if item.Container != nil {
		item.Container.Image, item.Container.Node = image, node
	}
	return item, nil
}

// current is a row that is valid.
type current struct {
	id               int64
	key              Key
	content, subject hash
	subjectID        int64
	node             string
	from             int64
}

// subjectKey names a subject that comes or goes.
type subjectKey struct {
	kind Kind
	id   int64
}

// plan is what is to be written. Rows are closed before others are opened: a key has one open row.
type plan struct {
	close []current
	open  []entry
	// delta is by how many items of a kind there are more.
	delta map[Kind]int
}

// diff compares what is with what is wanted. left is how many items of a kind more there may be; what is beyond is in dropped.
func diff(rows []current, want wanted, left func(Kind) int) (out plan, dropped map[Kind]bool, err error) {
	out.delta, dropped = map[Kind]int{}, map[Kind]bool{}
	have := make(map[Key]current, len(rows))
	for _, row := range rows {
		have[row.key] = row
		_, set := want.set[row.key]
		if !set && (want.gone[row.key] || slices.Contains(want.whole, row.key.Kind)) {
			out.close = append(out.close, row)
			out.delta[row.key.Kind]--
		}
	}
	for key, item := range want.set {
		one, err := entryOf(item)
		if err != nil {
			return out, nil, err
		}
		row, there := have[key]
		switch {
		case there && row.content == one.content && row.subject == one.subject && row.node == one.node:
			continue
		case there:
			out.close = append(out.close, row)
		default:
			out.delta[key.Kind]++
		}
		out.open = append(out.open, one)
	}
	// In the order of keys, so that the same changes drop the same items, and rows that are read together lie together.
	slices.SortFunc(out.open, func(a, b entry) int { return compareKeys(a.key, b.key) })
	out.open = slices.DeleteFunc(out.open, func(one entry) bool {
		_, there := have[one.key]
		return !there && out.delta[one.key.Kind] > left(one.key.Kind) && drop(&out, dropped, one.key.Kind)
	})
	return out, dropped, nil
}

// drop takes a new item out of a plan.
func drop(p *plan, dropped map[Kind]bool, kind Kind) bool {
	p.delta[kind]--
	dropped[kind] = true
	return true
}
