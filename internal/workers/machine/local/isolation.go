//go:build linux

package local

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"kqueen.io/kqueen/internal/workers/machine"
	"kqueen.io/kqueen/internal/workers/machine/local/guest"
)

// The users and groups of this host that machines may stand for: the range that systemd leaves to containers (UIDS-GIDS.md,
// "Special systemd UID ranges"), in blocks as large as that of one machine.
const (
	idBlock         = 1 << 16
	firstID, lastID = 0x80000, 0x6fff0000
)

// isolate chooses how far a machine is kept apart from the host: as far as the kernel does it now, for all its life. The
// caller holds p.mu.
func (p *Provider) isolate(ctx context.Context, uid types.UID, r record) (record, error) {
	taken, err := idsInUse()
	if err != nil {
		return record{}, err
	}
	ids, err := chooseIDs(uid, p.records, taken)
	if err != nil {
		return record{}, err
	}
	r.Isolation, r.IDs = machine.IsolationUserNamespace, &ids
	if err := p.try(ctx, ids); err != nil {
		r.Isolation, r.IDs, r.Reason = machine.IsolationOwnRoot, nil, fmt.Sprintf("machines on this host cannot have users of their own: %v", err)
	}
	p.records[uid] = r
	return r, nil
}

// tryUsers makes a machine that is nothing but process 1.
func (p *Provider) tryUsers(ctx context.Context, ids guest.IDs) error {
	dir, err := os.MkdirTemp("", "kqueen-machine-")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(dir) }()
	tree := append(guest.Root(), guest.Entry{Kind: guest.KindShown, Target: insideProgram, Source: p.Program})
	return guest.Try(ctx, guest.Config{Hostname: "try", IDs: &ids, Program: insideProgram, Stage: dir, Tree: tree})
}

// chooseIDs picks users that no other machine has, and none else on the host as far as it says so. It begins with those to
// which the machine's name leads: two installations on one host do not know each other's choice at first. It is pure.
func chooseIDs(uid types.UID, records map[types.UID]record, taken []guest.IDs) (guest.IDs, error) {
	taken = slices.Clone(taken)
	for _, r := range records {
		if r.IDs != nil {
			taken = append(taken, *r.IDs)
		}
	}
	sum := sha256.Sum256([]byte(uid))
	const blocks = (lastID - firstID) / idBlock
	first := int(binary.BigEndian.Uint32(sum[:]) % blocks)
	for i := range blocks {
		ids := guest.IDs{First: firstID + (first+i)%blocks*idBlock, Count: idBlock}
		if !overlapsAny(ids, taken) {
			return ids, nil
		}
	}
	return guest.IDs{}, fmt.Errorf("%w: all users between %d and %d stand for machines or containers already", machine.ErrCapacity, firstID, lastID)
}

func overlapsAny(ids guest.IDs, taken []guest.IDs) bool {
	for _, t := range taken {
		if ids.First < t.First+t.Count && t.First < ids.First+ids.Count {
			return true
		}
	}
	return false
}

// idsInUse are those that the host gives to its users' containers, and those of the user namespaces that there are.
func idsInUse() ([]guest.IDs, error) {
	var taken []guest.IDs
	for _, file := range []string{"/etc/subuid", "/etc/subgid"} {
		data, err := os.ReadFile(file)
		if err == nil {
			taken = append(taken, parseIDs(data, ":")...)
		}
	}
	maps, err := filepath.Glob("/proc/[0-9]*/[ug]id_map")
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	for _, file := range maps {
		data, err := os.ReadFile(file)
		if err != nil || seen[string(data)] { // it has ended meanwhile, or is as another one
			continue
		}
		seen[string(data)] = true
		taken = append(taken, parseIDs(data, "")...)
	}
	return taken, nil
}

// parseIDs reads lines of three fields, divided by a separator or blanks: something, a range's first number, and its size. A
// range that begins with 0 is that of the host itself. It is pure.
func parseIDs(data []byte, separator string) []guest.IDs {
	const first, count = 1, 2
	var all []guest.IDs
	lines := bufio.NewScanner(bytes.NewReader(data))
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if separator != "" {
			fields = strings.Split(strings.TrimSpace(lines.Text()), separator)
		}
		if len(fields) <= count {
			continue
		}
		from, errFrom := strconv.ParseUint(fields[first], 10, 32)
		size, errSize := strconv.ParseUint(fields[count], 10, 32)
		if errFrom == nil && errSize == nil && from > 0 && size > 0 {
			all = append(all, guest.IDs{First: int(from), Count: int(size)})
		}
	}
	return all
}
