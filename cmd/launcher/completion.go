package main

import (
	"context"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/agent/jobs"
)

const completionHelp = `usage: agent completion bash|zsh|fish|powershell

Prints a script with which the shell completes verbs, flags and names of jobs.

  source <(agent completion bash)           for this shell; in ~/.bashrc, for every shell
  agent completion zsh > "${fpath[1]}/_agent"
  agent completion fish > ~/.config/fish/completions/agent.fish
  agent completion powershell | Out-String | Invoke-Expression`

// listWithin bounds how long a shell waits for the names of jobs.
const listWithin = 3 * time.Second

func newCompletion(streams Streams) *cobra.Command {
	shells := map[string]func(root *cobra.Command, w io.Writer) error{
		"bash":       func(root *cobra.Command, w io.Writer) error { return root.GenBashCompletionV2(w, true) },
		"zsh":        func(root *cobra.Command, w io.Writer) error { return root.GenZshCompletion(w) },
		"fish":       func(root *cobra.Command, w io.Writer) error { return root.GenFishCompletion(w, true) },
		"powershell": func(root *cobra.Command, w io.Writer) error { return root.GenPowerShellCompletionWithDesc(w) },
	}
	order := []string{"bash", "zsh", "fish", "powershell"}
	return &cobra.Command{
		Use: "completion SHELL", Short: "print a shell completion script", Long: completionHelp, ValidArgs: order,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 || shells[args[0]] == nil {
				return failure.Usage("agent completion bash", "agent completion takes one shell: %s", strings.Join(order, ", "))
			}
			return shells[args[0]](cmd.Root(), streams.Out)
		},
	}
}

// isAsked reports whether verb is one of cobra's own, with which a shell asks for completions.
func isAsked(verb string) bool {
	return verb == cobra.ShellCompRequestCmd || verb == cobra.ShellCompNoDescRequestCmd
}

// completesJobs makes the shell complete the names of jobs after cmd: one name, or with many several.
func completesJobs(cmd *cobra.Command, many bool) *cobra.Command {
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 && !many {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return slices.DeleteFunc(jobNames(cmd), func(name string) bool { return slices.Contains(args, name) }), cobra.ShellCompDirectiveNoFileComp
	}
	return cmd
}

// jobNames lists the jobs in the namespace that the flags of cmd name. If they cannot be listed, it
// returns none, because a shell cannot show the reason.
func jobNames(cmd *cobra.Command) []string {
	var where jobs.Where
	for flag, value := range map[string]*string{"namespace": &where.Namespace, "context": &where.Context, "kubeconfig": &where.Kubeconfig} {
		*value, _ = cmd.Flags().GetString(flag) // every verb for jobs has them
	}
	api, err := open(where)
	if err != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), listWithin)
	defer cancel()
	list, err := api.Jobs(ctx, api.Namespace, "")
	if err != nil {
		return nil
	}
	var all []string
	for _, job := range list {
		all = append(all, job.Name)
	}
	return all
}
