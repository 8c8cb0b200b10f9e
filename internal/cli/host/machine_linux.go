package host

import (
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"kqueen.io/kqueen/internal/cli/command"
	"kqueen.io/kqueen/internal/workers/machine/local/guest"
	"kqueen.io/kqueen/internal/workers/node"
)

// newMachineCommand holds what runs inside the machines that KQueen makes on this host. Users do not call it.
func newMachineCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "machine", Short: "What runs inside a machine on this host", Hidden: true}
	command.Group(cmd)
	cmd.AddCommand(newMachineRunCommand(), newMachineStartCommand())
	return cmd
}

func newMachineRunCommand() *cobra.Command {
	var config string
	var host int
	cmd := &cobra.Command{
		Use:   "run --config FILE",
		Short: "Be process 1 of a machine",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if host < 0 {
				return guest.Begin("/proc/self/exe", []string{"machine", "run", "--config", config})
			}
			c, err := guest.Read(config)
			if err != nil {
				return err
			}
			return guest.Run(cmd.Context(), c, host, slog.New(slog.NewTextHandler(os.Stderr, nil)))
		},
	}
	cmd.Flags().StringVar(&config, "config", "", "configuration of the machine")
	cmd.Flags().IntVar(&host, "host-network", -1, "open file of the host's network")
	_ = cmd.MarkFlagRequired("config")
	return cmd
}

func newMachineStartCommand() *cobra.Command {
	var s node.Start
	cmd := &cobra.Command{
		Use:   "start [--socket PATH] [--path PATH] [--importer PROGRAM [--image ARCHIVE]... [--images FOLDER]] -- PROGRAM [ARGUMENT]...",
		Short: "Wait for what a program of the machine needs, then become it",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			s.Program, s.Log = args, slog.New(slog.NewTextHandler(os.Stderr, nil))
			return s.Exec(cmd.Context())
		},
	}
	cmd.Flags().StringVar(&s.Socket, "socket", "", "socket that has to accept connections")
	cmd.Flags().StringVar(&s.Path, "path", "", "path that has to exist")
	cmd.Flags().StringVar(&s.Importer, "importer", "", "containerd's own client")
	cmd.Flags().StringArrayVar(&s.Images, "image", nil, "archive to import first")
	cmd.Flags().StringVar(&s.Folder, "images", "", "folder with more archives, which may be broken")
	cmd.Flags().StringVar(&s.Marks, "marks", node.ContainerdRoot, "folder that notes what was imported")
	return cmd
}
