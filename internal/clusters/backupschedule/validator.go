package backupschedule

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/platform/invalid"
)

// mostOfOne is how many schedules an organization may have.
const mostOfOne = 100

// Validator refuses at admission a schedule whose times cannot be had, so that its user is told at once.
type Validator struct {
	// Client of the admin plane.
	Client client.Reader
}

// ValidateCreate refuses times that are none, and one schedule too many.
func (v Validator) ValidateCreate(ctx context.Context, s *v1alpha1.BackupSchedule) (admission.Warnings, error) {
	list := &v1alpha1.BackupScheduleList{}
	if err := v.Client.List(ctx, list, client.InNamespace(s.Namespace)); err != nil {
		return nil, fmt.Errorf("list schedules of backups: %w", err)
	}
	if len(list.Items) >= mostOfOne {
		return nil, refused(s, invalid.New("metadata.name", "the organization has %d schedules of backups already and may have %d", len(list.Items), mostOfOne))
	}
	return nil, check(s)
}

// ValidateUpdate refuses a change to times that are none.
func (Validator) ValidateUpdate(_ context.Context, old, s *v1alpha1.BackupSchedule) (admission.Warnings, error) {
	if !s.DeletionTimestamp.IsZero() || old.Spec.Schedule == s.Spec.Schedule && old.Spec.TimeZone == s.Spec.TimeZone {
		return nil, nil
	}
	return nil, check(s)
}

// ValidateDelete allows every deletion.
func (Validator) ValidateDelete(context.Context, *v1alpha1.BackupSchedule) (admission.Warnings, error) {
	return nil, nil
}

func check(s *v1alpha1.BackupSchedule) error {
	_, err := ParseTimes(s.Spec.Schedule, s.Spec.TimeZone)
	return refused(s, err)
}

// refused is the API server's answer to bad input.
func refused(s *v1alpha1.BackupSchedule, err error) error {
	bad, ok := errors.AsType[*invalid.Error](err)
	if !ok {
		return err
	}
	kind := v1alpha1.GroupVersion.WithKind("BackupSchedule").GroupKind()
	return apierrors.NewInvalid(kind, s.Name, field.ErrorList{{Type: field.ErrorTypeForbidden, Field: bad.Field, Detail: bad.Detail()}})
}
