package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
)

// inFolderWith makes a working directory that has the file.
func inFolderWith(t *testing.T, name, content string) {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
	t.Chdir(dir)
}

// configured returns `tieout config` by key.
func configured(t *testing.T, env []string, args ...string) map[string]shownSetting {
	t.Helper()
	got := invoke(t, env, append([]string{"config", "--format", "json"}, args...)...)
	require.Equal(t, exitDone, got.code, got.stderr)
	var list []shownSetting
	require.NoError(t, json.Unmarshal([]byte(got.stdout), &list))
	byKey := make(map[string]shownSetting, len(list))
	for _, s := range list {
		byKey[s.Key] = s
	}
	return byKey
}

func TestConfig_FlagBeatsEnvironmentBeatsFileBeatsDefault(t *testing.T) {
	inFolderWith(t, "tieout.yaml", "schema: from_file\ntopic-prefix: from-file.\nbrokers: [file:9092]\n")
	env := []string{"TIEOUT_TOPIC_PREFIX=from-environment.", "TIEOUT_BROKERS=a:9092, b:9092"}

	got := configured(t, env, "--brokers", "flag:9092")
	require.Empty(t, cmp.Diff(shownSetting{"brokers", "flag:9092", "--brokers", "TIEOUT_BROKERS"}, got["brokers"]))
	require.Empty(t, cmp.Diff(shownSetting{"topic-prefix", "from-environment.", "TIEOUT_TOPIC_PREFIX", "TIEOUT_TOPIC_PREFIX"}, got["topic-prefix"]))
	require.Empty(t, cmp.Diff(shownSetting{"schema", "from_file", "tieout.yaml", "TIEOUT_SCHEMA"}, got["schema"]))
	require.Empty(t, cmp.Diff(shownSetting{"group-prefix", "tieout.", "default", "TIEOUT_GROUP_PREFIX"}, got["group-prefix"]))
	require.Equal(t, "a:9092,b:9092", configured(t, env)["brokers"].Value)
	require.Equal(t, "file:9092", configured(t, nil)["brokers"].Value)
}

func TestConfig_RolesFollowTheSchema(t *testing.T) {
	t.Chdir(t.TempDir())
	got := configured(t, []string{"TIEOUT_SCHEMA=books", "TIEOUT_OWNER_ROLE=auditor"})
	require.Equal(t, "books_worker", got["worker-role"].Value)
	require.Equal(t, "auditor", got["owner-role"].Value)
}

func TestConfig_DatabaseURLIsReadUnderItsUsualNameToo(t *testing.T) {
	t.Chdir(t.TempDir())
	usual, own := "DATABASE_URL=postgres://usual/db", "TIEOUT_DATABASE_URL=postgres://own/db"
	require.Equal(t, "DATABASE_URL", configured(t, []string{usual})["database-url"].Origin)
	require.Equal(t, "postgres://own/db", configured(t, []string{own, usual})["database-url"].Value)
}

func TestConfig_TheFileCanBeNamed(t *testing.T) {
	inFolderWith(t, "other.yaml", "schema: other\n")
	require.Equal(t, "other", configured(t, nil, "--config", "other.yaml")["schema"].Value)
	require.Equal(t, "other", configured(t, []string{"TIEOUT_CONFIG=other.yaml"})["schema"].Value)
	require.Equal(t, "tieout", configured(t, nil)["schema"].Value)
}

func TestConfig_AnEmptyVariableCountsAsNone(t *testing.T) {
	t.Chdir(t.TempDir())
	require.Equal(t, "default", configured(t, []string{"TIEOUT_SCHEMA="})["schema"].Origin)
}

func TestConfig_LeavesVariablesOfOthersAlone(t *testing.T) {
	t.Chdir(t.TempDir())
	configured(t, []string{"TIEOUT_PORT=tcp://10.0.0.1:9464", "TIEOUT_SERVICE_HOST=10.0.0.1", "TIEOUT_PORT_9464_TCP_ADDR=10.0.0.1", "BROKER=x", "no entry"})
}

func TestConfig_ReadsOnlyTheEnvironmentThatItIsHanded(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("TIEOUT_SCHEMA", "of_the_process")
	require.Equal(t, "tieout", configured(t, nil)["schema"].Value)
}

func TestConfig_RefusesWhatCanNotBeMeant(t *testing.T) {
	for name, c := range map[string]struct {
		file string
		env  []string
		args []string
		want string
	}{
		"unknown key": {
			file: "broker: a:9092\n",
			want: "tieout: configuration file tieout.yaml: there is no setting \"broker\": did you mean \"brokers\"? `tieout config` lists them all\n",
		},
		"nested key": {
			file: "kafka:\n  brokers: a:9092\n",
			want: "tieout: configuration file tieout.yaml: there is no setting \"kafka.brokers\": did you mean \"brokers\"? `tieout config` lists them all\n",
		},
		"a number where YAML would change it": {
			file: "registry-password: 0123\n",
			want: "tieout: registry-password (tieout.yaml): not text: write it between quotes\n",
		},
		"not a switch": {
			env:  []string{"TIEOUT_TLS=maybe"},
			want: "tieout: tls (TIEOUT_TLS): want true or false\n",
		},
		"almost a variable": {
			env:  []string{"TIEOUT_BROKER=a:9092"},
			want: "tieout: there is no variable TIEOUT_BROKER: did you mean TIEOUT_BROKERS?\n",
		},
		"not a broker": {
			env:  []string{"TIEOUT_BROKERS=localhost"},
			want: "tieout: brokers: \"localhost\" is not HOST:PORT\n",
		},
		"a broker's port that is none": {
			env:  []string{"TIEOUT_BROKERS=h:9092,h:99999"},
			want: "tieout: brokers: \"h:99999\" is not HOST:PORT: a port is a number between 1 and 65535\n",
		},
		"a broker's port in words": {
			args: []string{"--brokers", "h:kafka"},
			want: "tieout: brokers: \"h:kafka\" is not HOST:PORT: a port is a number between 1 and 65535\n",
		},
		"a schema that needs quotes": {
			env:  []string{"TIEOUT_SCHEMA=Books"},
			want: "tieout: schema: \"Books\" is not a name of lower-case letters, digits and underscores, at most 56 long, without pg_ before it\n",
		},
		"one role for two": {
			env:  []string{"TIEOUT_OWNER_ROLE=x", "TIEOUT_WORKER_ROLE=x"},
			want: "tieout: owner-role and worker-role are both x: a worker that owns the ledger could change it; name two roles\n",
		},
		"half a certificate": {
			env:  []string{"TIEOUT_TLS=true", "TIEOUT_TLS_CERT=c.pem"},
			want: "tieout: tls-cert and tls-key go together: set both or neither\n",
		},
		"TLS half on": {
			env:  []string{"TIEOUT_TLS_CA=ca.pem"},
			want: "tieout: tls-ca, tls-cert and tls-key have no effect without tls: set tls to true\n",
		},
		"a login without a way": {
			env:  []string{"TIEOUT_SASL_USERNAME=u"},
			want: "tieout: sasl-username and sasl-password have no effect without sasl-mechanism: set it to PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512\n",
		},
		"a way without a login": {
			env:  []string{"TIEOUT_SASL_MECHANISM=scram-sha-256"},
			want: "tieout: sasl-mechanism needs sasl-username and sasl-password (TIEOUT_SASL_PASSWORD)\n",
		},
		"a password in the registry's URL": {
			env:  []string{"TIEOUT_REGISTRY_URL=http://u:hunter2@r"},
			want: "tieout: registry-url holds a user: use registry-username and registry-password (TIEOUT_REGISTRY_PASSWORD) instead\n",
		},
		"a password in an argument": {
			args: []string{"--database-url", "postgres://u:hunter2@h/d"},
			want: "tieout: --database-url: a password in an argument is seen by everyone on this machine: set TIEOUT_DATABASE_URL instead\n",
		},
		"a password in an argument of pairs": {
			args: []string{"--database-url", "host=h password='hunter 2'"},
			want: "tieout: --database-url: a password in an argument is seen by everyone on this machine: set TIEOUT_DATABASE_URL instead\n",
		},
		"not YAML": {
			file: "schema: [\n",
			want: "tieout: configuration file tieout.yaml: yaml: line 1: did not find expected node content\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			inFolderWith(t, "tieout.yaml", c.file)
			got := invoke(t, c.env, append([]string{"config"}, c.args...)...)
			require.Equal(t, exitUsage, got.code)
			require.Equal(t, c.want, got.stderr)
		})
	}
}

func TestConfig_NeverShowsASecret(t *testing.T) {
	const secret = "hunter2"
	inFolderWith(t, "tieout.yaml", "registry-username: r\nregistry-password: "+secret+"\n")
	env := []string{
		"TIEOUT_DATABASE_URL=postgres://u:" + secret + "@h/d?sslpassword=" + secret,
		"TIEOUT_SASL_MECHANISM=PLAIN", "TIEOUT_SASL_USERNAME=u", "TIEOUT_SASL_PASSWORD=" + secret,
	}
	for _, format := range []string{formatText, formatJSON} {
		got := invoke(t, env, "config", "--format", format)
		require.Equal(t, exitDone, got.code)
		require.NotContains(t, got.stdout+got.stderr, secret)
		require.Contains(t, got.stdout, masked)
	}
}

func TestMaskURL_HidesWhatIsOrMayBeSecretAndNothingElse(t *testing.T) {
	for given, want := range map[string]string{
		"postgres://h/d":                             "postgres://h/d",
		"postgres://u@h/d?sslmode=disable":           "postgres://u@h/d?sslmode=disable",
		"postgres:///d?host=/tmp&user=u":             "postgres:///d?host=/tmp&user=u",
		"postgres://u:p%40ss@h:5432/d":               "postgres://u:xxxxx@h:5432/d",
		"postgres://u:p@ss@h:5432/d":                 "postgres://u:xxxxx@h:5432/d",
		"postgres://u:@h/d":                          "postgres://u:xxxxx@h/d",
		"postgres://h/d?user=u&password=p":           "postgres://h/d?password=xxxxx&user=u",
		"postgres://u:p@h/d?sslpassword=q":           "postgres://u:xxxxx@h/d?sslpassword=xxxxx",
		"postgres://h/d?application_name=a&options=": masked,
		"http://h/?key=TopS3cret":                    "http://h/?key=xxxxx",
		"http://h/?TopS3cret":                        masked,
		"http://h/?a=1;b=TopS3cret":                  masked,
		"http://h/#TopS3cret":                        masked,
		"postgres://u:12#S3cret@h/d":                 masked,
		"postgres://u:12/S3cret@h/d":                 masked,
		"postgres://u:12?S3cret@h/d":                 masked,
		"postgres://u:p ss@h:port/d":                 masked,
		"u:TopS3cret@h:5432":                         masked,
		"postgres:u:TopS3cret":                       masked,
		"TopS3cret":                                  masked,
		"host=h user=u password=p dbname=d":          "host=h user=u password=xxxxx dbname=d",
		`host=h password = 'it\'s' dbname=d`:         "host=h password = xxxxx dbname=d",
		`host=h password=a\ b dbname=d`:              "host=h password=xxxxx dbname=d",
		"host=h password=p=q dbname=d":               "host=h password=xxxxx dbname=d",
		"host=h password=two words":                  masked,
		"password='unclosed dbname=d":                masked,
		"host=/run/postgresql dbname=d":              "host=/run/postgresql dbname=d",
		"host='h'user=u":                             masked,
		"host=h sslpassword=p PASSWORD=q x=y":        "host=h sslpassword=xxxxx PASSWORD=xxxxx x=xxxxx",
	} {
		require.Equal(t, want, maskURL(given), "given %q", given)
	}
}

func TestConfig_ShowsNothingOfAnAddressThatItCanNotRead(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, variable := range []string{"TIEOUT_DATABASE_URL=u:TopS3cret@h:5432", "DATABASE_URL=postgres:u:TopS3cret", "TIEOUT_REGISTRY_URL=http://h/?key=TopS3cret"} {
		got := invoke(t, []string{variable}, "config")
		require.Equal(t, exitDone, got.code)
		require.NotContains(t, got.stdout+got.stderr, "TopS3cret")
		require.Contains(t, got.stdout, masked)
	}
	for _, address := range []string{"u:TopS3cret@h:5432", "postgres:u:TopS3cret"} {
		got := invoke(t, nil, "config", "--database-url", address)
		require.Equal(t, exitUsage, got.code)
		require.Equal(t, "tieout: --database-url: neither a URL nor keyword=value pairs, so it may hold a password, and an argument is seen by everyone on this machine: set TIEOUT_DATABASE_URL instead\n", got.stderr)
	}
}

func TestConfig_ASettingThatACommandNeedsIsAskedFor(t *testing.T) {
	t.Chdir(t.TempDir())
	got := invoke(t, nil, "setup")
	require.Equal(t, exitUsage, got.code)
	require.Equal(t, "tieout: database-url is not set: set TIEOUT_DATABASE_URL, give --database-url, or write database-url in tieout.yaml\n", got.stderr)
}

func TestSettings_DescribeEachMemberOfTheConfigurationOnce(t *testing.T) {
	var described, members []string
	for _, s := range settings() {
		described = append(described, s.key)
		require.Equal(t, "TIEOUT_"+strings.ToUpper(strings.ReplaceAll(s.key, "-", "_")), s.variable())
		require.NotEmpty(t, s.usage, s.key)
		if strings.Contains(s.key, "password") {
			require.True(t, s.secret, "%s is not masked", s.key)
		}
	}
	for field := range reflect.TypeFor[config]().Fields() {
		members = append(members, field.Tag.Get("koanf"))
	}
	slices.Sort(described)
	slices.Sort(members)
	require.Equal(t, members, described)
}
