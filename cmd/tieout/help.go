package main

// usageTemplate is what help shows of a command, behind its description. The
// settings that every command has would bury its own flags, so they're listed
// once: by `tieout --help` and `tieout config --help`.
const usageTemplate = `Usage:
  {{if .HasAvailableSubCommands}}{{.CommandPath}} COMMAND{{else}}{{.UseLine}}{{end}}{{if .HasExample}}

Examples:
{{.Example}}{{end}}{{if .HasAvailableSubCommands}}

Commands:{{range .Commands}}{{if .IsAvailableCommand}}
  {{rpad .Name .NamePadding}} {{.Short}}{{end}}{{end}}{{end}}{{if .HasAvailableLocalFlags}}

Flags:
{{.LocalFlags.FlagUsages | trimTrailingWhitespaces}}{{end}}{{if .HasAvailableInheritedFlags}}{{if eq .Name "config"}}

Settings, for all commands:
{{.InheritedFlags.FlagUsages | trimTrailingWhitespaces}}{{else}}

Servers, names and output (--brokers, --database-url, --format ...) are settings
that all commands have: tieout config --help lists them.{{end}}{{end}}{{if .HasAvailableSubCommands}}

{{.CommandPath}} COMMAND --help says more of one.{{end}}
`
