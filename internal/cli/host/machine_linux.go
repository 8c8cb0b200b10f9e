package host

import (
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"kqueen.io/kqueen/internal/cli/command"
	"kqueen.io/kqueen/internal/workers/machine/local/guest"
	"kqueen.io/kqueen/internal/workers/node"
)

// newMachineCommand holds what makes the machines on KQueen's host, and what runs inside. Users do not call it.
func newMachineCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "machine", Short: "Run a machine on this host", Hidden: true}
	command.Group(cmd)
	cmd.AddCommand(newMachineRunCommand(), newMachineInitCommand(), newMachineStartCommand(), newMachineRenewCommand())
	return cmd
}

func newMachineRunCommand() *cobra.Command {
	var config string
	cmd := &cobra.Command{
		Use:   "run --config FILE",
		Short: "Create a machine, and supervise it from outside",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := guest.Read(config)
			if err != nil {
				return err
			}
			return guest.Run(cmd.Context(), c, slog.New(slog.NewTextHandler(os.Stderr, nil)))
		},
	}
	cmd.Flags().StringVar(&config, "config", "", "configuration of the machine")
	_ = cmd.MarkFlagRequired("config")
	return cmd
}

func newMachineInitCommand() *cobra.Command {
	var born bool
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Be process 1 of a machine",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if !born {
				return guest.Begin(os.Args[0], []string{"machine", "init", "--born"})
			}
			return guest.Live(slog.New(slog.NewTextHandler(os.Stderr, nil)))
		},
	}
	cmd.Flags().BoolVar(&born, "born", false, "the machine is made")
	return cmd
}

func newMachineStartCommand() *cobra.Command {
	var s node.Start
	cmd := &cobra.Command{
		Use:   "start [--socket PATH] [--path PATH] [--importer PROGRAM [--image ARCHIVE]... [--images FOLDER [--insist] [--label NODE]]] -- PROGRAM [ARGUMENT]...",
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
	cmd.Flags().BoolVar(&s.Insist, "insist", false, "wait until all archives of the folder are imported")
	cmd.Flags().StringVar(&s.Label, "label", "", "node to label as one that has the images of addons, by the kubeconfig --path")
	cmd.Flags().StringVar(&s.Marks, "marks", node.ContainerdRoot, "folder that notes what was imported")
	return cmd
}

func newMachineRenewCommand() *cobra.Command {
	r := node.Renewal{Kubeconfig: node.KubeletKubeconfig, Certs: node.KubeletCerts}
	cmd := &cobra.Command{
		Use:   "renew --authorities FILE",
		Short: "Have the node of the machine follow other authorities of its cluster",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			r.Log = slog.New(slog.NewTextHandler(os.Stderr, nil))
			return r.Run(cmd.Context())
		},
	}
	cmd.Flags().StringVar(&r.Authorities, "authorities", "", "file with them, in PEM, the one that signs first")
	_ = cmd.MarkFlagRequired("authorities")
	return cmd
}
