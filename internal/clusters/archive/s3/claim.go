package s3

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/minio/minio-go/v7"

	"kqueen.io/kqueen/internal/clusters/archive"
)

const (
	// Mark is the file by which a folder is known to belong to one store.
	Mark = "kqueen-backupstore"
	// mostMark is more than any owner's name has.
	mostMark = 4 << 10
)

// Claim says that the folder is the owner's, when it is no other's yet. Two stores at one place would each remove what the other one
// has: the first write wins, and the server tells which that was.
func (b *Bucket) Claim(ctx context.Context, owner string) error {
	once := minio.PutObjectOptions{}
	once.SetMatchETagExcept("*")
	for range attempts {
		// It is read after the write, too: another one may have written meanwhile, and not every server knows conditions.
		if err := b.owned(ctx, owner); !errors.Is(err, archive.ErrNotFound) {
			return err
		}
		err := b.put(ctx, Mark, []byte(owner), once)
		if refused, is := errors.AsType[*answerError](err); err != nil && (!is || refused.answer.StatusCode != http.StatusPreconditionFailed) {
			return err
		}
	}
	return fmt.Errorf("%s%s in bucket %s cannot be read, although it was written", b.prefix, Mark, b.bucket)
}

func (b *Bucket) owned(ctx context.Context, owner string) error {
	have, err := b.Get(ctx, Mark, mostMark)
	if err != nil {
		return err
	}
	if string(have) != owner {
		return fmt.Errorf("%s%s in bucket %s says that what is there belongs to another backup store; choose another prefix", b.prefix, Mark, b.bucket)
	}
	return nil
}
