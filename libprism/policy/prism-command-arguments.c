/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Arguments that make a program do what its name does not say: run another one, write a
 * file, load code. A rule that allows a program does not mean them, unless its own words
 * name them. The list is known not to be whole: see docs/policy-format. */
#include "prism-command-arguments-private.h"

#include <string.h>

#include "prism-command-judge-private.h"

typedef struct
{
  const char *program;
  const char *shorts; /* letters of short options; anywhere in a group of them */
  const char *longs;  /* between blanks; also when abbreviated or with =value */
  const char *words;  /* between blanks; the word itself, or with =value, or how it begins if that ends in * */
} Dangerous;

static const Dangerous dangerous[] = {
  { "ag", "", "pager", "" },
  { "apt", "oc", "option config-file", "" },
  { "apt-get", "oc", "option config-file", "" },
  { "awk", "fiEl", "file include load exec", "" },
  { "bat", "", "pager", "" },
  { "cargo", "", "config", "" },
  { "cc", "", "", "@* -fplugin* -wrapper -specs* -dump* -save-temps* -o*" },
  { "clang", "", "", "@* -fplugin* -Xclang -load -o*" },
  { "cp", "tS", "target-directory backup suffix", "" },
  { "csplit", "f", "prefix", "" },
  { "curl", "KoOTFDcE", "config output remote-name upload-file form dump-header cookie-jar engine proxy", "" },
  { "date", "s", "set", "" },
  { "diff", "", "", "" },
  { "dpkg", "", "pre-invoke post-invoke admindir root instdir", "" },
  { "env", "S", "split-string", "" },
  { "fd", "xX", "exec exec-batch", "" },
  { "fdfind", "xX", "exec exec-batch", "" },
  { "find", "", "", "-exec* -ok* -delete -fprint* -fls" },
  { "gawk", "fiEl", "file include load exec", "" },
  { "gcc", "", "", "@* -B* -X* -fplugin* -wrapper -specs* -dump* -save-temps* -o*" },
  { "gdb", "xex", "command eval-command ex init-command init-eval-command", "" },
  { "git", "cO",
    "config-env exec-path upload-pack receive-pack upload-archive ext-diff textconv open-files-in-pager exec "
    "output git-dir work-tree super-prefix template separate-git-dir signoff-by",
    "ext::* config bisect filter-branch submodule difftool mergetool daemon http-backend instaweb hook "
    "-c* -C* -O* -x* --exec*" },
  { "go", "", "", "-exec* -toolexec* -vettool* -overlay* -modfile* generate run env" },
  { "gpg", "", "output status-file logger-file options photo-viewer agent-program keyserver-options", "" },
  { "iconv", "o", "output", "" },
  { "ip", "b", "batch", "netns" },
  { "java", "", "", "-javaagent* -agentlib* -agentpath* -XX:OnError* -XX:OnOutOfMemoryError* @*" },
  { "journalctl", "", "rotate vacuum-size vacuum-time vacuum-files flush sync", "" },
  { "less", "oOkT", "log-file LOG-FILE lesskey-file lesskey-src tag-file", "+*" },
  { "lua", "el", "", "" },
  { "make", "fICE", "eval file makefile directory include-dir", "SHELL* MAKEFLAGS* .SHELLFLAGS*" },
  { "man", "PHC", "pager html config-file preprocessor", "" },
  { "mawk", "f", "", "" },
  { "more", "", "", "+*" },
  { "mysql", "e", "execute init-command pager tee", "" },
  { "nmap", "o", "script datadir servicedb", "-o*" },
  { "node", "eprC", "eval print require import loader experimental-loader input-type", "" },
  { "npm", "", "script-shell userconfig globalconfig prefix shell node-options", "exec explore config" },
  { "openssl", "", "", "-engine* -provider* -out* -config*" },
  { "patch", "oipBr", "output reject-file get", "" },
  { "perl", "eEiMmIx", "", "" },
  { "php", "rRBdf", "run process-code define", "" },
  { "pip", "", "config-settings global-option install-option target prefix root", "config" },
  { "pip3", "", "config-settings global-option install-option target prefix root", "config" },
  { "python", "cmiW", "", "" },
  { "python3", "cmiW", "", "" },
  { "rg", "", "pre hostname-bin search-zip", "" },
  { "rsync", "e", "rsh rsync-path daemon config password-file files-from log-file remove-source-files delete", "" },
  { "ruby", "erIi", "", "" },
  { "scp", "SFo", "", "" },
  { "sed", "if", "in-place file expression", "" },
  { "sftp", "SFob", "", "" },
  { "sort", "oT", "output compress-program temporary-directory files0-from", "" },
  { "split", "", "filter", "" },
  { "sqlite3", "", "", "-init -cmd .shell* .system* .load* .output*" },
  { "ssh", "oFEiIwWLRDJ", "", "" },
  { "ssh-keygen", "DFf", "", "" },
  { "tar", "IF",
    "use-compress-program checkpoint-action to-command info-script new-volume-script rsh-command rmt-command "
    "remove-files files-from",
    "" },
  { "tcpdump", "zwrF", "postrotate-command", "" },
  { "time", "o", "output", "" },
  { "tree", "oR", "output", "" },
  { "vi", "cSsuU", "cmd", "+*" },
  { "view", "cSsuU", "cmd", "+*" },
  { "vim", "cSsuU", "cmd", "+*" },
  { "wget", "OiePo",
    "output-document use-askpass input-file execute post-file body-file output-file directory-prefix "
    "config",
    "" },
  { "xxd", "r", "", "" },
  { "yarn", "", "script-shell use-yarnrc cwd", "exec config dlx" },
  { "zip", "TO", "unzip-command test output-file", "-TT*" },
};

static const Dangerous *
find (const char *program)
{
  guint low = 0, high = G_N_ELEMENTS (dangerous);

  while (low < high)
    {
      guint middle = (low + high) / 2;
      int order = strcmp (program, dangerous[middle].program);

      if (order == 0)
        return &dangerous[middle];
      if (order < 0)
        high = middle;
      else
        low = middle + 1;
    }
  return NULL;
}

/* The next entry of a list between blanks; its length, 0 at the end. */
static gsize
next_entry (const char **list)
{
  *list += strspn (*list, " ");
  return strcspn (*list, " ");
}

static gboolean
word_is_listed (const char *list, const char *text)
{
  gsize length;

  for (; (length = next_entry (&list)) > 0; list += length)
    {
      gboolean begins = list[length - 1] == '*';
      gsize compared = begins ? length - 1 : length;

      if (strncmp (text, list, compared) == 0 && (begins || text[length] == '\0' || text[length] == '='))
        return TRUE;
    }
  return FALSE;
}

/* GNU's programs take any beginning of a long option that is only one's. */
static gboolean
long_option_is_listed (const char *list, const char *text)
{
  gsize given = strcspn (text, "="), length;

  for (; given > 0 && (length = next_entry (&list)) > 0; list += length)
    if (strncmp (text, list, MIN (given, length)) == 0 && given <= length)
      return TRUE;
  return FALSE;
}

/* A program of sed's own language; one that is only looked at prints, deletes or replaces. */
static gboolean
is_plain_sed (const char *text)
{
  const char *at = text;

  at += strspn (at, "0123456789,$ ");
  if (*at == '/' && strpbrk (at + 1, "/\\\n") != NULL && *strpbrk (at + 1, "/\\\n") == '/')
    at = strchr (at + 1, '/') + 1;
  if (*at == 's' && (at[1] == '/' || at[1] == '|' || at[1] == ',' || at[1] == '#'))
    {
      char mark[] = { at[1], '\\', '\n', '\0' };
      const char *middle = strpbrk (at + 2, mark);
      const char *end = middle != NULL && *middle == mark[0] ? strpbrk (middle + 1, mark) : NULL;

      return end != NULL && *end == mark[0] && end[1 + strspn (end + 1, "gpiI0123456789")] == '\0';
    }
  return (*at == 'p' || *at == 'd' || *at == 'q' || *at == '=') && at[1] == '\0';
}

static gboolean
is_plain_awk (const char *text)
{
  return strstr (text, "system") == NULL && strstr (text, "getline") == NULL && strpbrk (text, "|>@\\") == NULL
         && strstr (text, "close") == NULL;
}

static gboolean
operand_is_dangerous (const char *program, const char *text, gboolean first)
{
  if (g_str_equal (program, "sed"))
    return first && !is_plain_sed (text);
  if (g_str_has_suffix (program, "awk"))
    return !is_plain_awk (text);
  /* Its options stand without a dash there. */
  if (g_str_equal (program, "tar"))
    return first && text[strspn (text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")] == '\0'
           && strpbrk (text, "IF") != NULL;
  return FALSE;
}

gboolean
prism_command_argument_is_dangerous (const char *program, const char *text, gboolean first_operand)
{
  const Dangerous *entry = find (program);

  if (entry == NULL)
    return FALSE;
  if (word_is_listed (entry->words, text))
    return TRUE;
  if (text[0] == '-' && text[1] == '-')
    return long_option_is_listed (entry->longs, text + 2);
  if (text[0] == '-' && text[1] != '\0')
    return text[strcspn (text, entry->shorts)] != '\0';
  return operand_is_dangerous (program, text, first_operand);
}

/* --- variables ---------------------------------------------------------------------------------------- */

static gboolean
name_is_listed (const char *const *list, const char *name, gsize length)
{
  for (; *list != NULL; list++)
    {
      gsize size = strlen (*list);

      if ((*list)[size - 1] == '*' ? length >= size - 1 && strncmp (name, *list, size - 1) == 0
                                   : length == size && strncmp (name, *list, size) == 0)
        return TRUE;
    }
  return FALSE;
}

/* What programs that are often there are turned by. */
static const char *const programs_own[] = {
  "PAGER",
  "MANPAGER",
  "LESSOPEN",
  "LESSCLOSE",
  "LESS",
  "BROWSER",
  "NODE_OPTIONS",
  "NODE_PATH",
  "npm_config_*",
  "NPM_*",
  "PYTHON*",
  "PERL*",
  "RUBY*",
  "GEM_*",
  "BUNDLE_*",
  "LUA_*",
  "JAVA_TOOL_OPTIONS",
  "_JAVA_OPTIONS",
  "JDK_JAVA_OPTIONS",
  "CLASSPATH",
  "MAKEFLAGS",
  "MAKEFILES",
  "GNUMAKEFLAGS",
  "CC",
  "CXX",
  "LD",
  "AR",
  "RUSTC*",
  "CARGO_*",
  "GOFLAGS",
  "GOROOT",
  "TAR_OPTIONS",
  "RSYNC_RSH",
  "CVS_RSH",
  "SVN_SSH",
  "GIO_*",
  "GTK_*",
  "QT_*",
  "XDG_*",

  "AWKPATH",
  "AWKLIBPATH",
  "OPENSSL_*",
  "SSL_CERT_*",
  "CURL_*",
  "WGETRC",
  "http_proxy",
  "https_proxy",
  "HTTP_PROXY",
  "HTTPS_PROXY",
  "ALL_PROXY",
  "all_proxy",
  "PIP_*",
  "VIMINIT",
  "EXINIT",
  "VIRTUAL_ENV",
  "PHPRC",
  "PHP_*",
  NULL,
};

/* What the loader, shells and nearly every program are turned by. */
static const char *const everywhere[] = {
  "LD_*",
  "DYLD_*",
  "GLIBC_TUNABLES",
  "GCONV_PATH",
  "LOCPATH",
  "NLSPATH",
  "HOSTALIASES",
  "RESOLV_HOST_CONF",
  "TERMINFO*",
  "PATH",
  "IFS",
  "ENV",
  "BASH_*",
  "BASHOPTS",
  "SHELLOPTS",
  "PS4",
  "PROMPT_COMMAND",
  "CDPATH",
  "FPATH",
  "ZDOTDIR",
  "SHELL",
  "HOME",
  "GIT_*",
  "SSH_ASKPASS*",
  "SUDO_*",
  "EDITOR",
  "VISUAL",
  NULL,
};

gboolean
prism_command_variable_is_dangerous (const char *assignment)
{
  gsize length = strcspn (assignment, "=");

  return length == 0 || name_is_listed (everywhere, assignment, length)
         || name_is_listed (programs_own, assignment, length);
}

gboolean
prism_command_variable_is_harmless (const char *assignment)
{
  static const char *const names[] = {
    "CI",       "NO_COLOR", "FORCE_COLOR", "CLICOLOR", "COLUMNS",
    "LINES",    "LANG",     "LC_*",        "TZ",       "RUST_BACKTRACE",
    "RUST_LOG", "NODE_ENV", "VERBOSE",     "V",        "DEBIAN_FRONTEND",
    NULL,
  };
  gsize length = strcspn (assignment, "=");

  return name_is_listed (names, assignment, length) && assignment[length] == '='
         && assignment[length + 1
                       + strspn (assignment + length + 1,
                                 "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.,:@=-")]
                == '\0';
}
