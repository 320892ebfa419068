/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gio/gio.h>

G_BEGIN_DECLS

#ifndef _PRISM_EXTERN
#define _PRISM_EXTERN extern
#endif
/* Symbols are hidden by default; what carries this is public since 1.0. */
#define PRISM_AVAILABLE_IN_1_0 __attribute__ ((visibility ("default"))) _PRISM_EXTERN

typedef struct _PrismAction PrismAction;
typedef struct _PrismApprovalPolicy PrismApprovalPolicy;
typedef struct _PrismApprovalRequest PrismApprovalRequest;
typedef struct _PrismAttestation PrismAttestation;
typedef struct _PrismAuditLog PrismAuditLog;
typedef struct _PrismAuditRecord PrismAuditRecord;
typedef struct _PrismBackend PrismBackend;
typedef struct _PrismCapabilities PrismCapabilities;
typedef struct _PrismCommand PrismCommand;
typedef struct _PrismCommandRule PrismCommandRule;
typedef struct _PrismCredential PrismCredential;
typedef struct _PrismDecision PrismDecision;
typedef struct _PrismEgressListener PrismEgressListener;
typedef struct _PrismEgressPolicy PrismEgressPolicy;
typedef struct _PrismEgressProxy PrismEgressProxy;
typedef struct _PrismEgressResolver PrismEgressResolver;
typedef struct _PrismEgressRule PrismEgressRule;
typedef struct _PrismEgressStats PrismEgressStats;
typedef struct _PrismFileEntry PrismFileEntry;
typedef struct _PrismHealthCheck PrismHealthCheck;
typedef struct _PrismHealthReport PrismHealthReport;
typedef struct _PrismLimits PrismLimits;
typedef struct _PrismMount PrismMount;
typedef struct _PrismOperation PrismOperation;
typedef struct _PrismPathGuard PrismPathGuard;
typedef struct _PrismPluginInfo PrismPluginInfo;
typedef struct _PrismPolicy PrismPolicy;
typedef struct _PrismProcess PrismProcess;
typedef struct _PrismRedactor PrismRedactor;
typedef struct _PrismRegistry PrismRegistry;
typedef struct _PrismResult PrismResult;
typedef struct _PrismSandbox PrismSandbox;
typedef struct _PrismSandboxSpec PrismSandboxSpec;
typedef struct _PrismTreeIdentity PrismTreeIdentity;

G_END_DECLS
