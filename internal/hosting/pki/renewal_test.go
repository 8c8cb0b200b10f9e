package pki

import (
	"bytes"
	"maps"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// renewal alters a bundle or its table and says what Issue must do about it, and no more than that.
type renewal struct {
	reason string
	// alter may be nil.
	alter func(t *testing.T, f *fixture)
	// after is the time since the bundle was issued.
	after time.Duration
	want  []Change
	// files must get other content, in the order of Bundle.Names. nil means the key and the certificate of every change.
	files []string
}

const toDue = (leafLife+clockSkew)/10*7 - clockSkew

func allLeaves(reason Reason) (out []Change) {
	for _, name := range []string{"apiserver", "apiserver-kubelet-client", "front-proxy-client", "controller-manager", "scheduler", "admin", "etcd-client"} {
		out = append(out, Change{Name: name, Reason: reason})
	}
	return out
}

var renewalsByTime = map[string]renewal{
	"Nothing":          {reason: "a bundle that fits stays as it is", after: time.Hour},
	"OneSecondTooSoon": {reason: "before 70 % of the life nothing is due", after: toDue - time.Second},
	"AtSeventyPercent": {reason: "at 70 % of the life all leaves are due", after: toDue, want: allLeaves(Due)},
	"Ended":            {reason: "after the end the reason is that", after: leafLife + time.Second, want: allLeaves(Expired)},
	"FromTheFuture": {
		reason: "a leaf issued while the clock was ahead is of no use yet", want: []Change{{Name: "admin", Reason: NotYetValid}},
		alter: func(t *testing.T, f *fixture) {
			delete(f.bundle, "admin.crt")
			f.bundle, _ = issue(t, f.bundle, f.want, f.signers, start.Add(48*time.Hour))
		},
	},
	"Lifetime": {
		reason: "another lifetime waits for the next renewal",
		alter:  func(t *testing.T, f *fixture) { f.leaf(t, "admin").Lifetime = time.Hour },
	},
}

var renewalsByFile = map[string]renewal{
	"CertificateMissing": {
		reason: "half a pair is made whole, with a new key", want: []Change{{Name: "admin", Reason: Missing}},
		alter: func(_ *testing.T, f *fixture) { delete(f.bundle, "admin.crt") },
	},
	"KeyMissing": {
		reason: "half a pair is made whole", want: []Change{{Name: "admin", Reason: Missing}},
		alter: func(_ *testing.T, f *fixture) { delete(f.bundle, "admin.key") },
	},
	"Empty": {
		reason: "an empty entry is no entry", want: []Change{{Name: "admin", Reason: Missing}},
		alter: func(_ *testing.T, f *fixture) { f.bundle["admin.crt"] = []byte{} },
	},
	"Garbage": {
		reason: "what is not PEM is replaced", want: []Change{{Name: "admin", Reason: Unreadable}},
		alter: func(_ *testing.T, f *fixture) { f.bundle["admin.crt"] = []byte("oops") },
	},
	"GarbageKey": {
		reason: "a key that is not one is replaced", want: []Change{{Name: "admin", Reason: Unreadable}},
		alter: func(_ *testing.T, f *fixture) { f.bundle["admin.key"] = f.bundle["sa.pub"] },
	},
	"Truncated": {
		reason: "a file that was cut off is replaced", want: []Change{{Name: "admin", Reason: Unreadable}},
		alter: func(_ *testing.T, f *fixture) { f.bundle["admin.crt"] = f.bundle["admin.crt"][:200] },
	},
	"CutOffTail": {
		reason: "so is one with half a block at its end", want: []Change{{Name: "admin", Reason: Unreadable}},
		alter: func(_ *testing.T, f *fixture) {
			f.bundle["admin.crt"] = slices.Concat(f.bundle["admin.crt"], f.bundle["scheduler.crt"][:200])
		},
	},
	"TwoCertificates": {
		reason: "a second certificate is not kept unseen", want: []Change{{Name: "admin", Reason: Unreadable}},
		alter: func(_ *testing.T, f *fixture) {
			f.bundle["admin.crt"] = slices.Concat(f.bundle["admin.crt"], f.bundle["scheduler.crt"])
		},
	},
	"ForeignKey": {
		reason: "a certificate without its own key is of no use", want: []Change{{Name: "admin", Reason: KeyMismatch}},
		alter: func(_ *testing.T, f *fixture) { f.bundle["admin.key"] = f.bundle["scheduler.key"] },
	},
	"AuthorityReplaced": {
		reason: "an authority that was replaced, even by one of the same name, signs its leaves again",
		want:   []Change{{Name: "front-proxy-client", Reason: WrongSigner}},
		alter: func(t *testing.T, f *fixture) {
			maps.Copy(f.bundle, newFixture(t, start).bundle.Signer("front-proxy-ca", "front-proxy-ca"))
		},
	},
	"SignerReplaced": {
		reason: "so does an authority from outside", want: []Change{{Name: "etcd-client", Reason: WrongSigner}},
		alter: func(t *testing.T, f *fixture) { f.signers = newFixture(t, start).signers },
	},
	"PublicHalfMissing": {
		reason: "a public key follows from the private one", want: []Change{{Name: "sa", Reason: Missing}}, files: []string{"sa.pub"},
		alter: func(_ *testing.T, f *fixture) { delete(f.bundle, "sa.pub") },
	},
	"PublicHalfGarbage": {
		reason: "a public key follows from the private one", want: []Change{{Name: "sa", Reason: Unreadable}}, files: []string{"sa.pub"},
		alter: func(_ *testing.T, f *fixture) { f.bundle["sa.pub"] = []byte("oops") },
	},
	"PublicHalfWithOld": {
		reason: "while a signing key is replaced, the old public key stays",
		alter: func(t *testing.T, f *fixture) {
			f.bundle["sa.pub"] = slices.Concat(newFixture(t, start).bundle["sa.pub"], f.bundle["sa.pub"])
		},
	},
	"AuthorityCertificateMissing": {
		reason: "a certificate made from the same key leaves all leaves as they are", want: []Change{{Name: "ca", Reason: Missing}}, files: []string{"ca.crt"},
		alter: func(_ *testing.T, f *fixture) { delete(f.bundle, "ca.crt") },
	},
	"NotWanted": {
		reason: "what the set does not know goes",
		want:   []Change{{Name: "old.crt", Reason: Dropped}, {Name: "scheduler.crt", Reason: Dropped}, {Name: "scheduler.key", Reason: Dropped}},
		files:  []string{"scheduler.key", "old.crt", "scheduler.crt"},
		alter: func(_ *testing.T, f *fixture) {
			f.bundle["old.crt"] = []byte("x")
			f.want.Leaves = slices.DeleteFunc(f.want.Leaves, func(l Leaf) bool { return l.Name == "scheduler" })
		},
	},
}

var renewalsByContent = map[string]renewal{
	"DNSNameAdded": {
		reason: "a new name must be in the certificate", want: []Change{{Name: "apiserver", Reason: Differs}},
		alter: func(t *testing.T, f *fixture) {
			l := f.leaf(t, "apiserver")
			l.DNSNames = append(slices.Clone(l.DNSNames), "new.example.org")
		},
	},
	"AddressRemoved": {
		reason: "an address that was given up must not stay", want: []Change{{Name: "apiserver", Reason: Differs}},
		alter: func(t *testing.T, f *fixture) { l := f.leaf(t, "apiserver"); l.IPs = l.IPs[1:] },
	},
	"OtherSpelling": {
		reason: "order, case, repetition and IPv4 in IPv6 mean nothing",
		alter: func(t *testing.T, f *fixture) {
			l := f.leaf(t, "apiserver")
			l.DNSNames = append(slices.Clone(l.DNSNames), "Kubernetes.Default")
			slices.Reverse(l.DNSNames)
			l.IPs = append(slices.Clone(l.IPs), netip.MustParseAddr("::ffff:192.0.2.10"))
		},
	},
	"CommonName": {
		reason: "the user changed", want: []Change{{Name: "etcd-client", Reason: Differs}},
		alter: func(t *testing.T, f *fixture) { f.leaf(t, "etcd-client").CommonName = "kq-other" },
	},
	"Organizations": {
		reason: "the groups changed", want: []Change{{Name: "admin", Reason: Differs}},
		alter: func(t *testing.T, f *fixture) { f.leaf(t, "admin").Organizations = nil },
	},
	"Usage": {
		reason: "the usage changed", want: []Change{{Name: "apiserver", Reason: Differs}},
		alter: func(t *testing.T, f *fixture) { f.leaf(t, "apiserver").Usage = Peer },
	},
	"AuthorityName": {
		reason: "an authority that is there keeps its name",
		alter:  func(_ *testing.T, f *fixture) { f.want.Authorities[0].CommonName = "other" },
	},
}

func TestIssueRenewsOnlyWhatDoesNotFit(t *testing.T) {
	original := newFixture(t, start)
	for _, table := range []map[string]renewal{renewalsByTime, renewalsByFile, renewalsByContent} {
		for name, tc := range table {
			t.Run(name, func(t *testing.T) { tc.run(t, original.copy()) })
		}
	}
}

func (r renewal) run(t *testing.T, f fixture) {
	sa := f.bundle["sa.key"]
	if r.alter != nil {
		r.alter(t, &f)
	}
	now := start.Add(r.after)
	before := maps.Clone(f.bundle)
	got, changes := issue(t, f.bundle, f.want, f.signers, now)
	if diff := cmp.Diff(r.want, changes, ignoreDetail); diff != "" {
		t.Errorf("%s: changes (-want +got):\n%s", r.reason, diff)
	}
	if !before.Equal(f.bundle) {
		t.Error("Issue altered its input")
	}
	if !bytes.Equal(sa, got["sa.key"]) {
		t.Error("Issue replaced sa.key")
	}
	files := r.files
	if files == nil {
		made := Bundle{}
		for _, c := range r.want {
			made[c.Name+".key"], made[c.Name+".crt"] = nil, nil
		}
		files = made.Names()
	}
	if diff := cmp.Diff(files, changedFiles(before, got)); diff != "" {
		t.Errorf("%s: files (-want +got):\n%s", r.reason, diff)
	}
	again, more := issue(t, got, f.want, f.signers, now)
	if len(more) > 0 || !again.Equal(got) {
		t.Errorf("a second Issue did: %v", more)
	}
}
