/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What goes wrong on the host, as a tree says it. */
#include "prism-host-tree-private.h"

PrismTreeFault
prism_host_fault_of (int number)
{
  switch (number)
    {
    case ENOENT:
      return PRISM_TREE_FAULT_NOT_FOUND;
    case EXDEV:
      return PRISM_TREE_FAULT_ESCAPE;
    case PRISM_HOST_CHANGED:
      return PRISM_TREE_FAULT_CHANGED;
    case EACCES:
    case EPERM:
    case EROFS:
    case EBUSY:
      return PRISM_TREE_FAULT_DENIED;
    case EEXIST:
    case ENOTEMPTY:
      return PRISM_TREE_FAULT_EXISTS;
    case EISDIR:
    case ENOTDIR:
    case ENXIO:
    case ELOOP:
      return PRISM_TREE_FAULT_TYPE;
    case ENAMETOOLONG:
    case EINVAL:
      return PRISM_TREE_FAULT_INVALID;
    case ENOSPC:
    case EDQUOT:
    case EMFILE:
    case ENFILE:
    case ENOMEM:
    case EFBIG:
      return PRISM_TREE_FAULT_LIMIT;
    default:
      return PRISM_TREE_FAULT_FAILED;
    }
}

const char *
prism_host_words_of (int number)
{
  return number == PRISM_HOST_CHANGED ? "is not what it was when it was checked; look at it, and call again"
                                      : g_strerror (number);
}

void
prism_tree_set_errno (GError **error, int number, const char *path)
{
  g_set_error (error, PRISM_TREE_FAULT, (int)prism_host_fault_of (number), "%s: %s", path,
               prism_host_words_of (number));
}

static const struct
{
  int code;
  PrismTreeFault fault;
} io_faults[] = {
  { G_IO_ERROR_NOT_FOUND, PRISM_TREE_FAULT_NOT_FOUND },
  { G_IO_ERROR_EXISTS, PRISM_TREE_FAULT_EXISTS },
  { G_IO_ERROR_NOT_EMPTY, PRISM_TREE_FAULT_EXISTS },
  { G_IO_ERROR_IS_DIRECTORY, PRISM_TREE_FAULT_TYPE },
  { G_IO_ERROR_NOT_DIRECTORY, PRISM_TREE_FAULT_TYPE },
  { G_IO_ERROR_TOO_MANY_LINKS, PRISM_TREE_FAULT_TYPE },
  { G_IO_ERROR_NOT_REGULAR_FILE, PRISM_TREE_FAULT_TYPE },
  { G_IO_ERROR_FILENAME_TOO_LONG, PRISM_TREE_FAULT_INVALID },
  { G_IO_ERROR_INVALID_FILENAME, PRISM_TREE_FAULT_INVALID },
  { G_IO_ERROR_INVALID_ARGUMENT, PRISM_TREE_FAULT_INVALID },
  { G_IO_ERROR_PERMISSION_DENIED, PRISM_TREE_FAULT_DENIED },
  { G_IO_ERROR_READ_ONLY, PRISM_TREE_FAULT_DENIED },
  { G_IO_ERROR_BUSY, PRISM_TREE_FAULT_DENIED },
  { G_IO_ERROR_NO_SPACE, PRISM_TREE_FAULT_LIMIT },
  { G_IO_ERROR_TOO_MANY_OPEN_FILES, PRISM_TREE_FAULT_LIMIT },
};

/* Of the path guard. */
void
prism_host_take_fault (GError **error, GError *from)
{
  PrismTreeFault fault = PRISM_TREE_FAULT_FAILED;

  if (g_error_matches (from, PRISM_POLICY_ERROR, PRISM_POLICY_ERROR_DENIED))
    fault = PRISM_TREE_FAULT_ESCAPE;
  for (guint i = 0; from->domain == G_IO_ERROR && i < G_N_ELEMENTS (io_faults); i++)
    if (from->code == io_faults[i].code)
      fault = io_faults[i].fault;
  g_set_error_literal (error, PRISM_TREE_FAULT, (int)fault, from->message);
  g_error_free (from);
}
