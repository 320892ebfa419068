/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The policy file: what one sandbox, or one proxy, may do, kept beside the project. It
 * is the word of whoever runs the program, as its command line is: a file that others
 * can write is theirs to decide. Secrets are never in it; where they come from is. */
#include "prism-policy-file-private.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "prism-fd-private.h"

#define MAX_FILE   (1024 * 1024)
#define MAX_SECRET 16384

#define PRISM_POLICY_APPROVAL_TIMEOUT_MS 30000

struct _PrismPolicyFile
{
  GObject parent_instance;
  PrismPolicyContents contents;
  PrismApprovalPolicy *policy; /* (nullable) */
  int handed_out;              /* atomic: somebody has it, and can ask */
};

/**
 * PrismPolicyFile:
 *
 * A policy file, version 1: what may be reached, with which credentials, limits and
 * host paths. It never changes once it is read.
 *
 * Since: 1.0
 */
G_DEFINE_FINAL_TYPE (PrismPolicyFile, prism_policy_file, G_TYPE_OBJECT)

void
prism_policy_source_free (PrismPolicySource *self)
{
  g_free (self->host);
  g_free (self->header);
  g_free (self->variable);
  g_free (self->file);
  g_free (self);
}

void
prism_policy_contents_init (PrismPolicyContents *self)
{
  GPtrArray **const lists[] = { &self->read_only, &self->read_write,     &self->hide,
                                &self->protect,   &self->action_members, &self->roots };

  *self = (PrismPolicyContents){ .deny_metacharacters = TRUE, .timeout_ms = PRISM_POLICY_APPROVAL_TIMEOUT_MS };
  self->rules = g_ptr_array_new_with_free_func ((GDestroyNotify)prism_command_rule_unref);
  self->credentials = g_ptr_array_new_with_free_func ((GDestroyNotify)prism_policy_source_free);
  for (guint i = 0; i < G_N_ELEMENTS (lists); i++)
    *lists[i] = g_ptr_array_new_with_free_func (g_free);
}

void
prism_policy_contents_clear (PrismPolicyContents *self)
{
  GPtrArray *const lists[] = { self->credentials, self->read_only,      self->read_write, self->hide,
                               self->protect,     self->action_members, self->roots,      self->rules };

  g_clear_object (&self->egress);
  g_clear_object (&self->limits);
  for (guint i = 0; i < G_N_ELEMENTS (lists); i++)
    g_ptr_array_unref (lists[i]);
}

static void
prism_policy_file_finalize (GObject *object)
{
  prism_policy_contents_clear (&PRISM_POLICY_FILE (object)->contents);
  g_clear_object (&PRISM_POLICY_FILE (object)->policy);
  G_OBJECT_CLASS (prism_policy_file_parent_class)->finalize (object);
}

static void
prism_policy_file_class_init (PrismPolicyFileClass *klass)
{
  G_OBJECT_CLASS (klass)->finalize = prism_policy_file_finalize;
}

static void
prism_policy_file_init (PrismPolicyFile *self)
{
  prism_policy_contents_init (&self->contents);
}

/* --- reading --------------------------------------------------------------------------- */

static gboolean
refuse_file (GError **error, const char *path, const char *why)
{
  g_set_error (error, PRISM_POLICY_ERROR, PRISM_POLICY_ERROR_UNREADABLE, "%s: %s", path, why);
  return FALSE;
}

/* At most @most bytes of a plain file, with a NUL after them; never waits for a pipe. */
static char *
read_file (const char *path, gsize most, gsize *length, GError **error)
{
  prism_autofd int fd = open (path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  char *text;
  struct stat info;
  gssize n = 1;

  if (fd < 0 || fstat (fd, &info) < 0)
    {
      refuse_file (error, path, g_strerror (errno));
      return NULL;
    }
  if (!S_ISREG (info.st_mode))
    {
      refuse_file (error, path, "not a plain file");
      return NULL;
    }
  text = g_malloc (most + 2);
  for (*length = 0; *length <= most && n > 0; *length += (gsize)MAX (n, 0))
    do
      n = read (fd, text + *length, most + 1 - *length);
    while (n < 0 && errno == EINTR);
  text[MIN (*length, most + 1)] = '\0';
  if (n >= 0 && *length <= most)
    return text;
  refuse_file (error, path, n < 0 ? g_strerror (errno) : "too long");
  explicit_bzero (text, most + 1);
  g_free (text);
  return NULL;
}

static PrismApprovalPolicy *
make_policy (const PrismPolicyContents *contents)
{
  PrismApprovalPolicy *policy =
      g_object_new (PRISM_TYPE_APPROVAL_POLICY, "roots", contents->roots->pdata, "read-only", contents->only_reads,
                    "deny-metacharacters", contents->deny_metacharacters, "approval-cache", contents->cache,
                    "approval-timeout-ms", contents->timeout_ms, NULL);

  for (guint i = 0; i < contents->rules->len; i++)
    prism_approval_policy_add_rule (policy, contents->rules->pdata[i]);
  return policy;
}

static PrismPolicyFile *
new_from (const char *text, gsize length, const char *name, const char *folder, GError **error)
{
  g_autoptr (PrismPolicyFile) self = g_object_new (PRISM_TYPE_POLICY_FILE, NULL);
  GPtrArray *const lists[] = { self->contents.read_only, self->contents.read_write,     self->contents.hide,
                               self->contents.protect,   self->contents.action_members, self->contents.roots };

  if (!prism_policy_contents_read (&self->contents, text, length, name, folder, error))
    return NULL;
  for (guint i = 0; i < G_N_ELEMENTS (lists); i++)
    g_ptr_array_add (lists[i], NULL);
  if (self->contents.action_members->pdata[0] != NULL)
    self->policy = make_policy (&self->contents);
  return g_steal_pointer (&self);
}

/**
 * prism_policy_file_new_for_path:
 * @path: (type filename): a policy file of at most 1 MiB
 * @error: return location for a [error@PolicyError]
 *
 * Makes what it says; %NULL if it cannot be read, or is not as a policy file should be: then the
 * message names the member by its path.
 *
 * Returns: (transfer full): what it says; %NULL if it cannot be read, or is not as a
 *   policy file should be: then the message names the member by its path
 *
 * Since: 1.0
 */
PrismPolicyFile *
prism_policy_file_new_for_path (const char *path, GError **error)
{
  g_autofree char *absolute = NULL;
  g_autofree char *folder = NULL;
  g_autofree char *text = NULL;
  gsize length;

  g_return_val_if_fail (path != NULL, NULL);
  g_return_val_if_fail (error == NULL || *error == NULL, NULL);

  text = read_file (path, MAX_FILE, &length, error);
  if (text == NULL)
    return NULL;
  absolute = g_canonicalize_filename (path, NULL);
  folder = g_path_get_dirname (absolute);
  return new_from (text, length, path, folder, error);
}

/**
 * prism_policy_file_new_from_data:
 * @text: a policy file's text
 * @length: its length in bytes; -1 if it ends with a NUL
 * @folder: (type filename): what its relative paths are relative to
 * @error: return location for a [error@PolicyError]
 *
 * Makes what it says; %NULL if it is not as it should be.
 *
 * Returns: (transfer full): what it says; %NULL if it is not as it should be
 *
 * Since: 1.0
 */
PrismPolicyFile *
prism_policy_file_new_from_data (const char *text, gssize length, const char *folder, GError **error)
{
  g_autofree char *absolute = NULL;

  g_return_val_if_fail (text != NULL && folder != NULL, NULL);
  g_return_val_if_fail (error == NULL || *error == NULL, NULL);

  absolute = g_canonicalize_filename (folder, NULL);
  return new_from (text, length < 0 ? strlen (text) : (gsize)length, "policy", absolute, error);
}

/* --- what it says ------------------------------------------------------------------------- */

/**
 * prism_policy_file_get_egress_policy:
 * @self: a policy file
 *
 * Tells what may be reached; %NULL if it does not say.
 *
 * Returns: (transfer none) (nullable): what may be reached; %NULL if it does not say
 *
 * Since: 1.0
 */
PrismEgressPolicy *
prism_policy_file_get_egress_policy (PrismPolicyFile *self)
{
  g_return_val_if_fail (PRISM_IS_POLICY_FILE (self), NULL);
  return self->contents.egress;
}

/**
 * prism_policy_file_get_limits:
 * @self: a policy file
 *
 * Gets its limits; %NULL if it names none.
 *
 * Returns: (transfer none) (nullable): its limits; %NULL if it names none
 *
 * Since: 1.0
 */
PrismLimits *
prism_policy_file_get_limits (PrismPolicyFile *self)
{
  g_return_val_if_fail (PRISM_IS_POLICY_FILE (self), NULL);
  return self->contents.limits;
}

static const char *const *
strings_of (GPtrArray *list)
{
  return (const char *const *)list->pdata;
}

/**
 * prism_policy_file_get_read_only:
 * @self: a policy file
 *
 * Gets host paths to show, not writable.
 *
 * Returns: (transfer none) (array zero-terminated=1): host paths to show, not writable
 *
 * Since: 1.0
 */
const char *const *
prism_policy_file_get_read_only (PrismPolicyFile *self)
{
  g_return_val_if_fail (PRISM_IS_POLICY_FILE (self), NULL);
  return strings_of (self->contents.read_only);
}

/**
 * prism_policy_file_get_read_write:
 * @self: a policy file
 *
 * Gets host paths to show, writable.
 *
 * Returns: (transfer none) (array zero-terminated=1): host paths to show, writable
 *
 * Since: 1.0
 */
const char *const *
prism_policy_file_get_read_write (PrismPolicyFile *self)
{
  g_return_val_if_fail (PRISM_IS_POLICY_FILE (self), NULL);
  return strings_of (self->contents.read_write);
}

/**
 * prism_policy_file_get_hide:
 * @self: a policy file
 *
 * Gets host paths that are not there.
 *
 * Returns: (transfer none) (array zero-terminated=1): host paths that are not there
 *
 * Since: 1.0
 */
const char *const *
prism_policy_file_get_hide (PrismPolicyFile *self)
{
  g_return_val_if_fail (PRISM_IS_POLICY_FILE (self), NULL);
  return strings_of (self->contents.hide);
}

/**
 * prism_policy_file_get_protect:
 * @self: a policy file
 *
 * Gets host paths that are there, but not writable.
 *
 * Returns: (transfer none) (array zero-terminated=1): host paths that are there, but
 *   not writable
 *
 * Since: 1.0
 */
const char *const *
prism_policy_file_get_protect (PrismPolicyFile *self)
{
  g_return_val_if_fail (PRISM_IS_POLICY_FILE (self), NULL);
  return strings_of (self->contents.protect);
}

/**
 * prism_policy_file_get_action_members:
 * @self: a policy file
 *
 * Which of the members `roots`, `readOnly`, `denyMetacharacters`, `commandRules` and
 * `approval` it has, in its order. They say what commands and tools may do.
 *
 * Returns: (transfer none) (array zero-terminated=1): their names
 *
 * Since: 1.0
 */
const char *const *
prism_policy_file_get_action_members (PrismPolicyFile *self)
{
  g_return_val_if_fail (PRISM_IS_POLICY_FILE (self), NULL);
  return strings_of (self->contents.action_members);
}

/**
 * prism_policy_file_get_policy:
 * @self: a policy file
 *
 * Gets the policy of actions that the file says: what its `roots`, `readOnly`,
 * `denyMetacharacters`, `commandRules` and `approval` come to. Whoever has it asks it;
 * [method@PolicyFile.apply] refuses a file with these members as long as nobody has.
 *
 * Returns: (transfer none) (nullable): a policy; %NULL if the file has none of these
 *   members
 *
 * Since: 1.0
 */
PrismApprovalPolicy *
prism_policy_file_get_policy (PrismPolicyFile *self)
{
  g_return_val_if_fail (PRISM_IS_POLICY_FILE (self), NULL);

  g_atomic_int_set (&self->handed_out, TRUE);
  return self->policy;
}

/**
 * prism_policy_file_dup_text:
 * @self: a policy file
 *
 * Writes a policy file that says the same: paths absolute, presets as their rules, and
 * what the file leaves unsaid as it is then.
 *
 * Returns: (transfer full): JSON, with line ends
 *
 * Since: 1.0
 */
char *
prism_policy_file_dup_text (PrismPolicyFile *self)
{
  g_return_val_if_fail (PRISM_IS_POLICY_FILE (self), NULL);

  return prism_policy_contents_print (&self->contents);
}

/* --- credentials -------------------------------------------------------------------------- */

static PrismCredential *
load_from_file (const PrismPolicySource *source, GError **error)
{
  gsize length = 0;
  g_autofree char *value = read_file (source->file, MAX_SECRET, &length, error);
  PrismCredential *credential;

  if (value == NULL)
    {
      g_prefix_error (error, "credential for %s: ", source->host);
      return NULL;
    }
  /* One newline at the end is the file's, not the secret's. */
  if (length > 0 && value[length - 1] == '\n')
    value[length - 1] = '\0';
  if (strlen (value) + 1 < length)
    {
      refuse_file (error, source->file, "a secret has no NUL in it");
      credential = NULL;
    }
  else
    credential = prism_credential_new (source->host, source->header, value, error);
  explicit_bzero (value, length);
  return credential;
}

static PrismCredential *
load_credential (const PrismPolicySource *source, GError **error)
{
  const char *value = source->variable != NULL ? g_getenv (source->variable) : NULL;

  if (source->file != NULL)
    return load_from_file (source, error);
  if (value != NULL)
    return prism_credential_new (source->host, source->header, value, error);
  g_set_error (error, PRISM_POLICY_ERROR, PRISM_POLICY_ERROR_UNREADABLE,
               "credential for %s: the variable %s is not set", source->host, source->variable);
  return NULL;
}

/**
 * prism_policy_file_load_credentials:
 * @self: a policy file
 * @error: return location for a [error@PolicyError] or [error@EgressError]
 *
 * Reads the variables and files that the credentials come from, as they are now. Of
 * a file one newline at the end is left out.
 *
 * Returns: (transfer full): a list of [class@Credential]; %NULL if one cannot be read
 *
 * Since: 1.0
 */
GListModel *
prism_policy_file_load_credentials (PrismPolicyFile *self, GError **error)
{
  g_autoptr (GListStore) credentials = g_list_store_new (PRISM_TYPE_CREDENTIAL);

  g_return_val_if_fail (PRISM_IS_POLICY_FILE (self), NULL);
  g_return_val_if_fail (error == NULL || *error == NULL, NULL);

  for (guint i = 0; i < self->contents.credentials->len; i++)
    {
      g_autoptr (PrismCredential) credential = load_credential (self->contents.credentials->pdata[i], error);

      if (credential == NULL)
        return NULL;
      g_list_store_append (credentials, credential);
    }
  return G_LIST_MODEL (g_steal_pointer (&credentials));
}

/* --- a sandbox by it ------------------------------------------------------------------------- */

static void
add_mounts (PrismSandboxSpec *spec, GPtrArray *paths, gboolean writable)
{
  for (guint i = 0; paths->pdata[i] != NULL; i++)
    {
      g_autoptr (GFile) source = g_file_new_for_path (paths->pdata[i]);
      g_autoptr (PrismMount) mount = prism_mount_new (source, NULL, writable);

      prism_sandbox_spec_add_mount (spec, mount);
    }
}

static gboolean
apply_egress (PrismPolicyFile *self, PrismSandboxSpec *spec, GError **error)
{
  g_autoptr (GListModel) credentials = prism_policy_file_load_credentials (self, error);

  if (credentials == NULL)
    return FALSE;
  if (self->contents.egress != NULL)
    g_object_set (spec, "network", PRISM_NETWORK_MODE_EGRESS, "egress-policy", self->contents.egress, NULL);
  for (guint i = 0; i < g_list_model_get_n_items (credentials); i++)
    {
      g_autoptr (PrismCredential) credential = g_list_model_get_item (credentials, i);
      prism_sandbox_spec_add_credential (spec, credential);
    }
  return TRUE;
}

/**
 * prism_policy_file_apply:
 * @self: a policy file
 * @spec: a specification that no sandbox is made of yet
 * @error: return location for a [error@PolicyError] or [error@EgressError]
 *
 * Gives a specification what the file says: network=egress and the policy, the
 * credentials, the limits, which replace those there are, and the host paths. What
 * the file says of commands and approval is for whoever asks
 * [method@PolicyFile.get_policy], and is refused here as long as nobody got that.
 *
 * Returns: whether it has all of it now
 *
 * Since: 1.0
 */
gboolean
prism_policy_file_apply (PrismPolicyFile *self, PrismSandboxSpec *spec, GError **error)
{
  const PrismPolicyContents *contents;

  g_return_val_if_fail (PRISM_IS_POLICY_FILE (self) && PRISM_IS_SANDBOX_SPEC (spec), FALSE);
  g_return_val_if_fail (error == NULL || *error == NULL, FALSE);

  contents = &self->contents;
  if (contents->action_members->pdata[0] != NULL && !g_atomic_int_get (&self->handed_out))
    {
      g_autofree char *members = g_strjoinv (", /", (char **)contents->action_members->pdata);

      g_set_error (error, PRISM_POLICY_ERROR, PRISM_POLICY_ERROR_NOT_SUPPORTED,
                   "policy file: /%s: nobody here asks about actions; leave it out, or ask the file's policy", members);
      return FALSE;
    }
  if (!apply_egress (self, spec, error))
    return FALSE;
  if (contents->limits != NULL)
    {
      g_autoptr (PrismLimits) limits = prism_limits_copy (contents->limits);
      g_object_set (spec, "limits", limits, NULL);
    }
  add_mounts (spec, contents->read_only, FALSE);
  add_mounts (spec, contents->read_write, TRUE);
  for (guint i = 0; contents->hide->pdata[i] != NULL; i++)
    prism_sandbox_spec_add_hide (spec, contents->hide->pdata[i]);
  for (guint i = 0; contents->protect->pdata[i] != NULL; i++)
    prism_sandbox_spec_add_protect (spec, contents->protect->pdata[i]);
  return TRUE;
}
