package access

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/duration"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/internal/cli/command"
	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/cli/console"
)

// NewDeviceCommand returns `device` and what is under it.
func NewDeviceCommand(e *connection.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "device",
		Short: "Approve or deny a device that shows a code",
		Long: `Approve or deny a device that shows a code, as "kqueen login --device" does. The
page that it shows does the same in a browser.`,
		Example: "  kqueen device approve WDJB-MJHT\n  kqueen device deny WDJB-MJHT",
	}
	command.Group(cmd)
	cmd.AddCommand(newApproveDeviceCommand(e), newDenyDeviceCommand(e))
	return cmd
}

// newApproveDeviceCommand returns `device approve`.
func newApproveDeviceCommand(e *connection.Env) *cobra.Command {
	var sure bool
	cmd := &cobra.Command{
		Use:   "approve CODE",
		Short: "Approve the device, which then acts as you",
		Long: `Let the device in that shows CODE, which then acts as you until its session ends.
Approve it only if you started this: what the device says of itself and where it
called from is shown. You are asked first; without a terminal, --yes is required.`,
		Example:           "  kqueen device approve WDJB-MJHT",
		Args:              command.Names(1, 1),
		ValidArgsFunction: command.NoCompletion,
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := e.Session()
			if err != nil {
				return err
			}
			asked, err := d.GetDevice(cmd.Context(), args[0])
			if err != nil {
				return fmt.Errorf("look for the device: %w", err)
			}
			e.Say("%s", deviceLine(*asked, time.Now()))
			if err := e.Confirmed(cmd, sure, "approve", fmt.Sprintf("Let it act as %s?", d.User)); err != nil {
				return err
			}
			if err := d.AnswerDevice(cmd.Context(), rest.DeviceAnswer{UserCode: args[0], Approve: true}); err != nil {
				return fmt.Errorf("approve the device: %w", err)
			}
			e.Say("the device is signed in as %s; end its session with: %s", d.User, e.Command("token revoke ID"))
			return nil
		},
	}
	cmd.Flags().BoolVarP(&sure, "yes", "y", false, "do not ask")
	return cmd
}

// newDenyDeviceCommand returns `device deny`.
func newDenyDeviceCommand(e *connection.Env) *cobra.Command {
	return &cobra.Command{
		Use:               "deny CODE",
		Short:             "Deny the device",
		Example:           "  kqueen device deny WDJB-MJHT",
		Args:              command.Names(1, 1),
		ValidArgsFunction: command.NoCompletion,
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := e.Session()
			if err != nil {
				return err
			}
			if err := d.AnswerDevice(cmd.Context(), rest.DeviceAnswer{UserCode: args[0]}); err != nil {
				return fmt.Errorf("deny the device: %w", err)
			}
			e.Say("the device is denied")
			return nil
		},
	}
}

// deviceLine says what a device is, as far as KQueen knows. It says so itself, so nothing that it says reaches the
// terminal as it is.
func deviceLine(d rest.DeviceRequest, now time.Time) string {
	what := []string{"a device asks to sign in"}
	if d.Client != "" {
		what = append(what, fmt.Sprintf("that calls itself %q", console.CleanLine(d.Client)))
	}
	if d.Source != "" {
		what = append(what, "from "+console.CleanLine(d.Source))
	}
	return strings.Join(what, ", ") + ", since " + duration.HumanDuration(now.Sub(d.CreatedAt))
}
