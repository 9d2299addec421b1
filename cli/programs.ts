import { defineCommand, type SubCommandsDef } from 'citty'
import type { CommandContext } from './command-context.ts'
import { announcementCommand } from './commands/announcement.ts'
import { appCommand } from './commands/apps.ts'
import { assistantsCommand } from './commands/assistants.ts'
import { auditCommand } from './commands/audit.ts'
import { updateAvatarCommand } from './commands/avatar.ts'
import { backupCommand, restoredCommand } from './commands/backup.ts'
import { completionCommand } from './commands/completion.ts'
import { deprecationsCommand } from './commands/deprecations.ts'
import { exportUserCommand } from './commands/export-user.ts'
import { filesCommand } from './commands/files.ts'
import { invitationCommand } from './commands/invitation.ts'
import { knowledgeCommand } from './commands/knowledge.ts'
import { limitsCommand } from './commands/limits.ts'
import { makeMigrationCommand } from './commands/make-migration.ts'
import { mcpCommand } from './commands/mcp.ts'
import { migrateCommand } from './commands/migrate.ts'
import { modelsCommand } from './commands/models.ts'
import { oauthCommand } from './commands/oauth.ts'
import { pricesCommand } from './commands/prices.ts'
import { realtimeCommand } from './commands/realtime.ts'
import { settingsCommand } from './commands/settings.ts'
import { tokenCommand } from './commands/token.ts'
import { usageCommand } from './commands/usage.ts'
import {
  addUserCommand,
  bindUserCommand,
  removeUserCommand,
  renameUserCommand,
  setGroupsCommand,
  setPasswordCommand,
  setRoleCommand,
  setUserDisabledCommand,
  usersCommand,
} from './commands/users.ts'
import { listConsoleCommands } from './console-commands.ts'

/** A program with its commands by name. */
export interface Program {
  name: string
  description: string
  commands(context: CommandContext): SubCommandsDef
}

export const svc: Program = {
  name: 'svc',
  description: 'Administer the service on its host.',
  commands: (context) => ({
    token: tokenCommand(context),
    'add-user': addUserCommand(context),
    invitation: invitationCommand(context),
    users: usersCommand(context),
    'set-role': setRoleCommand(context),
    'set-groups': setGroupsCommand(context),
    'set-password': setPasswordCommand(context),
    'disable-user': setUserDisabledCommand(context, true),
    'enable-user': setUserDisabledCommand(context, false),
    'rename-user': renameUserCommand(context),
    'bind-user': bindUserCommand(context),
    'export-user': exportUserCommand(context),
    'remove-user': removeUserCommand(context),
    'update-avatar': updateAvatarCommand(context),
    backup: backupCommand(context),
    models: modelsCommand(context),
    mcp: mcpCommand(context),
    app: appCommand(context),
    oauth: oauthCommand(context),
    prices: pricesCommand(context),
    usage: usageCommand(context),
    limits: limitsCommand(context),
    assistants: assistantsCommand(context),
    knowledge: knowledgeCommand(context),
    files: filesCommand(context),
    audit: auditCommand(context),
    realtime: realtimeCommand(context),
    deprecations: deprecationsCommand(context),
    settings: settingsCommand(context),
    migrate: migrateCommand(context),
    restored: restoredCommand(context),
    announcement: announcementCommand(context),
    'migration:make': makeMigrationCommand(context),
    completion: completionCommand(context, 'svc', () => svc.commands(context)),
  }),
}

/** The program with the command names of the specification and of earlier versions. */
export const svcConsole: Program = {
  name: 'svc-console',
  description: 'Administer the service on its host.',
  commands: (context) => ({
    ...listConsoleCommands(context),
    completion: completionCommand(context, 'svc-console', () => svcConsole.commands(context)),
  }),
}

export const createRoot = ({ name, description, commands }: Program, context: CommandContext) =>
  defineCommand({ meta: { name, description }, subCommands: commands(context) })
