package inventory

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"kqueen.io/kqueen/internal/platform/invalid"
	"kqueen.io/kqueen/internal/platform/text"
)

// Limits of texts, in bytes of UTF-8. Kubernetes' own names are shorter.
const (
	maxName      = 253
	maxWord      = 128
	maxReference = 768
	maxLong      = 1024
	// maxEntries is how many labels, hosts, ports and the like an item has.
	maxEntries = 64
)

// numbers are the kinds as they are kept. What is kept once does not change its number.
var numbers = map[Kind]int{
	KindContainer: 1, KindNode: 2, KindComponent: 3, KindWorkload: 4, KindNamespace: 5, KindService: 6, KindIngress: 7,
	KindVolume: 8, KindCertificate: 9, KindWarning: 10, KindAPI: 11,
}

// fit makes a text one that every database takes: valid UTF-8 without NUL, not longer than most bytes.
func fit(s string, most int) string {
	s = s[:min(len(s), 4*most)] // what is cut anyway is not cleaned
	return text.Cut(strings.ReplaceAll(strings.ToValidUTF8(s, "\ufffd"), "\x00", "\ufffd"), most)
}

func fitAll(most int, fields ...*string) {
	for _, field := range fields {
		*field = fit(*field, most)
	}
}

// fitMap returns a copy that fits; nil where it has nothing.
func fitMap(in map[string]string) map[string]string {
	if len(in) == 0 {
		return nil
	}
	out := make(map[string]string, min(len(in), maxEntries))
	for _, key := range slices.Sorted(maps.Keys(in))[:min(len(in), maxEntries)] {
		out[fit(key, 2*maxName)] = fit(in[key], maxName)
	}
	return out
}

// fitList returns a copy that fits; nil where it has nothing.
func fitList(in []string) []string {
	if len(in) == 0 {
		return nil
	}
	out := make([]string, 0, min(len(in), maxEntries))
	for _, one := range in[:min(len(in), maxEntries)] {
		out = append(out, fit(one, maxName))
	}
	return out
}

// fitTime makes a time one that JSON takes and that reads as it was written.
func fitTime(t time.Time) time.Time {
	if t.IsZero() || t.Year() < 1 || t.Year() > 9999 {
		return time.Time{}
	}
	return t.UTC().Truncate(time.Microsecond)
}

func (k Key) fit() Key {
	fitAll(maxName, &k.Namespace, &k.Name, &k.Part)
	k.UID = fit(k.UID, maxWord)
	return k
}

func (c Cluster) fit() (Cluster, error) {
	fitAll(maxName, &c.Organization, &c.Name)
	c.Labels = fitMap(c.Labels)
	if c.UID == "" || c.UID != fit(c.UID, maxWord) {
		return c, invalid.New("cluster.uid", "is empty, too long or not text; want the UID of the Cluster object, of at most %d bytes", maxWord)
	}
	return c, nil
}

// fit returns a copy of an item that shares nothing with it, or what is wrong with it.
func (i *Item) fit() (Item, error) {
	out := Item{Key: i.Key.fit()}
	if numbers[i.Key.Kind] == 0 {
		return out, invalid.New("key.kind", "%q is not known; want one of package inventory's", fit(string(i.Key.Kind), maxWord))
	}
	from, to := i.payload(), out.payload()
	if from.empty() {
		return out, invalid.New("item", "of kind %s does not have what it is; want the field of its kind", i.Key.Kind)
	}
	from.copy(to)
	return out, nil
}

// field is the field of an item that its kind says.
type field struct {
	empty func() bool
	// copy puts a copy that fits into another item's field.
	copy func(field)
	// value is a pointer to what JSON reads and writes; it makes one where there is none.
	value func() any
	// slot is a pointer to the field of the item.
	slot any
}

func fieldOf[T any](slot **T, clean func(*T)) field {
	return field{
		empty: func() bool { return *slot == nil },
		copy: func(to field) {
			own := **slot
			clean(&own)
			*to.slot.(**T) = &own
		},
		value: func() any {
			if *slot == nil {
				*slot = new(T)
			}
			return *slot
		},
		slot: slot,
	}
}

// payload is the field of the item's kind.
func (i *Item) payload() field {
	switch i.Key.Kind {
	case KindContainer:
		return fieldOf(&i.Container, (*Container).fit)
	case KindNode:
		return fieldOf(&i.Node, (*Node).fit)
	case KindComponent:
		return fieldOf(&i.Component, (*Component).fit)
	case KindWorkload:
		return fieldOf(&i.Workload, (*Workload).fit)
	case KindService:
		return fieldOf(&i.Service, (*Service).fit)
	case KindIngress:
		return fieldOf(&i.Ingress, (*Ingress).fit)
	case KindVolume:
		return fieldOf(&i.Volume, (*Volume).fit)
	case KindCertificate:
		return fieldOf(&i.Certificate, (*Certificate).fit)
	case KindWarning:
		return fieldOf(&i.Warning, (*Warning).fit)
	case KindAPI:
		return fieldOf(&i.API, (*API).fit)
	default:
		return fieldOf(&i.Namespace, (*Namespace).fit)
	}
}

func (c *Container) fit() {
	fitAll(maxWord, (*string)(&c.Type), &c.WorkloadKind, &c.Phase, &c.Reason)
	fitAll(maxName, &c.WorkloadName, &c.Node)
	fitAll(maxReference, &c.Image.Reference, &c.Image.Repository)
	fitAll(maxWord, &c.Image.Tag, &c.Image.Digest)
}

func (n *Node) fit() {
	fitAll(maxName, &n.KubeletVersion, &n.KubeProxyVersion, &n.Runtime, &n.Kernel, &n.OS, &n.Architecture, &n.Ready)
	n.Message = fit(n.Message, maxLong)
	n.Pressure, n.Labels = fitList(n.Pressure), fitMap(n.Labels)
}

func (c *Component) fit() {
	c.Version = fit(c.Version, maxWord)
	c.Image = fit(c.Image, maxReference)
}

func (w *Workload) fit()  { w.Labels, w.Selector = fitMap(w.Labels), fitMap(w.Selector) }
func (n *Namespace) fit() { n.Labels = fitMap(n.Labels) }

func (s *Service) fit() {
	s.Type = fit(s.Type, maxWord)
	s.Selector, s.Ports, s.Addresses = fitMap(s.Selector), fitList(s.Ports), fitList(s.Addresses)
}

func (i *Ingress) fit() {
	i.Class = fit(i.Class, maxName)
	i.Hosts, i.Services, i.Secrets = fitList(i.Hosts), fitList(i.Services), fitList(i.Secrets)
}

func (v *Volume) fit() { fitAll(maxName, &v.StorageClass, &v.Phase, &v.Bound) }

func (c *Certificate) fit() {
	fitAll(maxLong, &c.Subject, &c.Issuer)
	c.DNSNames, c.NotAfter = fitList(c.DNSNames), fitTime(c.NotAfter)
}

func (w *Warning) fit() {
	fitAll(maxName, &w.Reason, &w.ObjectKind)
	w.Message, w.LastSeen = fit(w.Message, maxLong), fitTime(w.LastSeen)
}

func (a *API) fit() { a.RemovedIn = fit(a.RemovedIn, maxWord) }

// fit returns changes that share nothing with what a cluster made, hold each key once, and are bounded: most is how many items
// of one kind there may be. dropped are the kinds of which there were more.
func (c Changes) fit(most int) (out wanted, dropped map[Kind]bool, err error) {
	out = wanted{set: make(map[Key]Item, min(len(c.Set), most)), gone: make(map[Key]bool, len(c.Gone))}
	dropped = map[Kind]bool{}
	for _, kind := range c.Whole {
		if numbers[kind] == 0 {
			return out, nil, invalid.New("whole", "%q is not known; want one of package inventory's kinds", fit(string(kind), maxWord))
		}
		out.whole = append(out.whole, kind)
	}
	slices.Sort(out.whole)
	out.whole = slices.Compact(out.whole)
	counts := map[Kind]int{}
	for n, item := range c.Set {
		if counts[item.Key.Kind] >= most {
			dropped[item.Key.Kind] = true
			continue
		}
		own, err := item.fit()
		if err != nil {
			return out, nil, fmt.Errorf("item %d: %w", n, err)
		}
		if _, again := out.set[own.Key]; !again {
			counts[own.Key.Kind]++
		}
		out.set[own.Key] = own
	}
	for _, key := range c.Gone {
		key = key.fit()
		if _, set := out.set[key]; !set && numbers[key.Kind] != 0 {
			out.gone[key] = true
		}
	}
	return out, dropped, nil
}

// compareKeys orders keys as the database does.
func compareKeys(a, b Key) int {
	return cmp.Or(cmp.Compare(numbers[a.Kind], numbers[b.Kind]), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name),
		cmp.Compare(a.Part, b.Part), cmp.Compare(a.UID, b.UID))
}
