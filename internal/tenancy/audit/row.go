package audit

import (
	"context"
	"database/sql"
	"encoding/json"

	"kqueen.io/kqueen/internal/platform/database"
)

// columns of a record, in the order of [Record]'s fields.
const columns = `sequence, time, actor_kind, actor_name, actor_credential, action, organization, object_kind, object_name,
	object_uid, source, user_agent, request_id, outcome, status, reason, before, after, detail, previous, hash`

func writeRecord(ctx context.Context, tx *sql.Tx, r Record) error {
	detail, err := encodeDetail(r.Detail)
	if err != nil {
		return err
	}
	values := []any{
		r.Sequence, database.Time(r.Time), r.Actor.Kind, r.Actor.Name, r.Actor.Credential, r.Action, r.Organization,
		r.Object.Kind, r.Object.Name, r.Object.UID, r.Source, r.UserAgent, r.RequestID, string(r.Outcome), r.Status, r.Reason,
		r.Before, r.After, detail, r.Previous, r.Hash,
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO audit_records (`+columns+`)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21)`, values...)
	return err
}

func scan(rows *sql.Rows) (Record, error) {
	var r Record
	var micros int64
	var detail string
	err := rows.Scan(&r.Sequence, &micros, &r.Actor.Kind, &r.Actor.Name, &r.Actor.Credential, &r.Action, &r.Organization,
		&r.Object.Kind, &r.Object.Name, &r.Object.UID, &r.Source, &r.UserAgent, &r.RequestID, &r.Outcome, &r.Status, &r.Reason,
		&r.Before, &r.After, &detail, &r.Previous, &r.Hash)
	if err != nil {
		return Record{}, err
	}
	r.Time = database.FromTime(micros)
	r.Detail = decodeDetail(detail)
	return r, nil
}

// encodeDetail sorts by key, as JSON of maps does.
func encodeDetail(detail map[string]string) (string, error) {
	if len(detail) == 0 {
		return "", nil
	}
	raw, err := json.Marshal(detail)
	return string(raw), err
}

// decodeDetail reads what encodeDetail has written. Text that it would not have written was tampered with: it
// becomes a detail that no record has, so that the record's hash is wrong, and not an error, which would end the
// reading of all others.
func decodeDetail(text string) map[string]string {
	if text == "" {
		return nil
	}
	var detail map[string]string
	if json.Unmarshal([]byte(text), &detail) == nil {
		if again, err := encodeDetail(detail); err == nil && again == text {
			return detail
		}
	}
	return map[string]string{"": clean(text, maxName)}
}
