package main

import (
	"cmp"
	"context"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/agent/jobs"
)

const completionHelp = `usage: agent completion bash|zsh|fish|powershell|kubectl

Prints a script with which the shell completes verbs, flags and names of jobs. With kubectl, prints
the program that kubectl runs to complete the words after kubectl muster.

  source <(agent completion bash)           for this shell; in ~/.bashrc, for every shell
  agent completion zsh > "${fpath[1]}/_agent"
  agent completion fish > ~/.config/fish/completions/agent.fish
  agent completion powershell | Out-String | Invoke-Expression
  agent completion kubectl > ~/bin/kubectl_complete-muster && chmod +x ~/bin/kubectl_complete-muster`

const pluginCompletionHelp = `usage: agent completion kubectl

Prints the program that kubectl runs to complete the words after kubectl muster. Put it in your PATH.

  agent completion kubectl > ~/bin/kubectl_complete-muster && chmod +x ~/bin/kubectl_complete-muster`

// kubectlScript is the program that kubectl runs to complete a line of the plugin.
const kubectlScript = `#!/bin/sh
exec kubectl muster __complete "$@"
`

// listWithin bounds how long a shell waits for the names of jobs.
const listWithin = 3 * time.Second

func newCompletion(streams Streams) *cobra.Command {
	shells := map[string]func(root *cobra.Command, w io.Writer) error{
		"bash":       func(root *cobra.Command, w io.Writer) error { return root.GenBashCompletionV2(w, true) },
		"zsh":        func(root *cobra.Command, w io.Writer) error { return root.GenZshCompletion(w) },
		"fish":       func(root *cobra.Command, w io.Writer) error { return root.GenFishCompletion(w, true) },
		"powershell": func(root *cobra.Command, w io.Writer) error { return root.GenPowerShellCompletionWithDesc(w) },
		"kubectl":    func(_ *cobra.Command, w io.Writer) error { _, err := io.WriteString(w, kubectlScript); return err },
	}
	order, long := []string{"bash", "zsh", "fish", "powershell", "kubectl"}, completionHelp
	if streams.Caller == asPlugin { // the other scripts are for agent
		order, long = order[len(order)-1:], pluginCompletionHelp
	}
	return &cobra.Command{
		Use: "completion SHELL", Short: "print a shell completion script", Long: long, ValidArgs: order,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 || !slices.Contains(order, args[0]) {
				return failure.Usage("agent completion "+cmp.Or(failure.Nearest(strings.Join(args, " "), order), order[0]), "agent completion takes one shell: %s", strings.Join(order, ", "))
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
