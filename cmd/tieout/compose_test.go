package main

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// The files that bring tieout up in containers. No container engine is needed
// to test that they say nothing that isn't so.
const (
	composePath    = "../../compose.yaml"
	dockerfilePath = "../../Dockerfile"
	envExamplePath = "../../.env.example"
)

// composeFile is what the tests look at in compose.yaml.
type composeFile struct {
	Services map[string]composeService `yaml:"services"`
}

type composeService struct {
	Image       string            `yaml:"image"`
	Command     []string          `yaml:"command"`
	Environment map[string]string `yaml:"environment"`
	Ports       []string          `yaml:"ports"`
	HealthCheck struct {
		Test []string `yaml:"test"`
	} `yaml:"healthcheck"`
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(content)
}

func readCompose(t *testing.T) composeFile {
	t.Helper()
	var file composeFile
	require.NoError(t, yaml.Unmarshal([]byte(readFile(t, composePath)), &file))
	return file
}

// ours returns the services that run tieout.
func (f composeFile) ours(t *testing.T) map[string]composeService {
	t.Helper()
	ours := map[string]composeService{}
	for name, service := range f.Services {
		if service.Image == "tieout" {
			ours[name] = service
		}
	}
	require.Len(t, ours, 3, "setup and two workers")
	return ours
}

func TestCompose_FollowsTheSpecification(t *testing.T) {
	schemaText := readFile(t, "testdata/compose-spec/compose-spec.json")
	schema, err := jsonschema.UnmarshalJSON(strings.NewReader(schemaText))
	require.NoError(t, err)
	compiler := jsonschema.NewCompiler()
	require.NoError(t, compiler.AddResource("compose-spec.json", schema))
	compiled, err := compiler.Compile("compose-spec.json")
	require.NoError(t, err)

	var file any
	require.NoError(t, yaml.Unmarshal([]byte(readFile(t, composePath)), &file))
	require.NoError(t, compiled.Validate(file))

	file.(map[string]any)["services"].(map[string]any)["setup"].(map[string]any)["comand"] = "x"
	require.Error(t, compiled.Validate(file), "a member that the specification doesn't know passes: is anything checked?")
}

func TestCompose_RunsCommandsAndFlagsThatThereAre(t *testing.T) {
	for name, service := range readCompose(t).ours(t) {
		require.NotEmpty(t, service.Command, name)
		requireParses(t, "/tieout "+strings.Join(service.Command, " "))
		if check := service.HealthCheck.Test; len(check) > 0 {
			require.Equal(t, []string{"CMD", "/tieout"}, check[:2], "%s: there is nothing else in the image", name)
			requireParses(t, strings.Join(check[1:], " "))
		}
	}
}

func TestCompose_SetsVariablesThatTieoutReads(t *testing.T) {
	var known []string
	for _, s := range settings() {
		known = append(known, s.variable())
	}
	named := regexp.MustCompile(`TIEOUT_\w+`)
	for _, path := range []string{composePath, dockerfilePath, envExamplePath} {
		for _, variable := range named.FindAllString(readFile(t, path), -1) {
			require.Contains(t, known, variable, path)
		}
	}
	for name, service := range readCompose(t).ours(t) {
		for variable, value := range service.Environment {
			require.True(t, strings.HasPrefix(variable, variablePrefix) || variable == "PGPASSWORD", "%s sets %s", name, variable)
			require.NotEmpty(t, value, "%s: %s", name, variable)
		}
	}
}

func TestCompose_SettingsAreAConfigurationThatTieoutTakes(t *testing.T) {
	services := readCompose(t).ours(t)
	t.Chdir(t.TempDir()) // where no tieout.yaml is
	for _, service := range services {
		var env []string
		for variable, value := range service.Environment {
			env = append(env, variable+"="+value)
		}
		got := invoke(t, env, "config")
		require.Equal(t, exitDone, got.code, got.stderr)
	}
}

func TestCompose_PasswordsComeFromTheEnvironment(t *testing.T) {
	connection := regexp.MustCompile(`(?i)://|password\s*=`)
	for name, service := range readCompose(t).Services {
		for variable, value := range service.Environment {
			if strings.Contains(variable, "PASSWORD") {
				require.Regexp(t, `^\$\{\w+:\?`, value, "%s: %s", name, variable)
			}
			if connection.MatchString(value) {
				require.False(t, holdsPassword(value), "%s: %s", name, variable)
			}
		}
	}
	interpolated := regexp.MustCompile(`\$\{(\w+):\?`)
	for _, match := range interpolated.FindAllStringSubmatch(readFile(t, composePath), -1) {
		require.Contains(t, readFile(t, envExamplePath), match[1]+"=", "a variable that has to be set isn't in .env.example")
	}
}

func TestCompose_PublishesPortsToThisMachineAlone(t *testing.T) {
	for name, service := range readCompose(t).Services {
		for _, port := range service.Ports {
			require.True(t, strings.HasPrefix(port, "127.0.0.1:"), "%s publishes %s", name, port)
		}
	}
}

func TestCompose_PublishesThePortsAtWhichWorkersAreAsked(t *testing.T) {
	exposed := regexp.MustCompile(`(?m)^EXPOSE (\d+)$`).FindStringSubmatch(readFile(t, dockerfilePath))
	require.Len(t, exposed, 2)
	published := map[string]bool{}
	for name, service := range readCompose(t).ours(t) {
		at := slices.Index(service.Command, "--http")
		if at < 0 {
			require.Empty(t, service.Ports, name)
			continue
		}
		require.Equal(t, "0.0.0.0:"+exposed[1], service.Command[at+1], name)
		require.Equal(t, defaultHTTP, service.HealthCheck.Test[len(service.HealthCheck.Test)-1], name)
		require.Len(t, service.Ports, 1, name)
		require.True(t, strings.HasSuffix(service.Ports[0], ":"+exposed[1]), name)
		require.False(t, published[service.Ports[0]], "%s publishes a port that another does", name)
		published[service.Ports[0]] = true
	}
	require.Len(t, published, 2)
}

func TestDockerfile_BuildsWhatItRuns(t *testing.T) {
	dockerfile := readFile(t, dockerfilePath)
	for _, line := range []string{
		`RUN CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X main.version=${VERSION}" -o /tieout ./cmd/tieout`,
		"COPY --from=build /tieout /tieout",
		`ENTRYPOINT ["/tieout"]`,
	} {
		require.Contains(t, dockerfile, line)
	}
	module := readFile(t, "../../go.mod")
	version := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(module)
	require.Contains(t, dockerfile, "FROM golang:"+version[1]+" AS build", "another Go than go.mod's")
	require.Regexp(t, `(?m)^USER [1-9]\d*:`, dockerfile, "runs as root")
	require.NotContains(t, dockerfile, "PASSWORD")
}
