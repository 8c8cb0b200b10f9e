package collector

import (
	"time"

	"kqueen.io/kqueen/internal/clusters/inventory"
	"kqueen.io/kqueen/internal/clusters/listing"
)

// warningItems returns an event of type Warning. All events of one object and reason have the same key; when it was last seen is in
// whole hours, so that an event that repeats is no change each time.
func warningItems(e *event) []inventory.Item {
	if e.Type != "Warning" || e.Involved.Name == "" {
		return nil
	}
	var last time.Time
	for _, at := range []*time.Time{e.Series.Last, e.Last, e.At, e.First} {
		if at != nil && !at.IsZero() {
			last = *at
			break
		}
	}
	reason := listing.Clean(e.Reason, maxWord)
	return []inventory.Item{{
		Key: inventory.Key{
			Kind: inventory.KindWarning, Namespace: listing.Clean(e.Involved.Namespace, maxName), Name: listing.Clean(e.Involved.Name, maxName),
			Part: reason, UID: listing.Clean(e.Involved.UID, maxUID),
		},
		Warning: &inventory.Warning{Reason: reason, Message: listing.Clean(e.Message, maxMessage), ObjectKind: listing.Clean(e.Involved.Kind, maxWord), LastSeen: last.UTC().Truncate(time.Hour)},
	}}
}
