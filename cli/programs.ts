import { defineCommand, type SubCommandsDef } from 'citty'
import type { CommandContext } from './command-context.ts'
import { announcement } from './commands/announcement.ts'
import { app } from './commands/apps.ts'
import { audit } from './commands/audit.ts'
import { updateAvatar } from './commands/avatar.ts'
import { backup, restored } from './commands/backup.ts'
import { completion } from './commands/completion.ts'
import { deprecations } from './commands/deprecations.ts'
import { exportUser } from './commands/export-user.ts'
import { files } from './commands/files.ts'
import { invitation } from './commands/invitation.ts'
import { limits } from './commands/limits.ts'
import { makeMigration } from './commands/make-migration.ts'
import { mcp } from './commands/mcp.ts'
import { migrate } from './commands/migrate.ts'
import { models } from './commands/models.ts'
import { prices } from './commands/prices.ts'
import { realtime } from './commands/realtime.ts'
import { settings } from './commands/settings.ts'
import { token } from './commands/token.ts'
import { usage } from './commands/usage.ts'
import {
  addUser,
  bindUser,
  removeUser,
  renameUser,
  setGroups,
  setPassword,
  setRole,
  switchUser,
  users,
} from './commands/users.ts'
import { consoleCommands } from './console-commands.ts'

/** A program with its commands by name. */
export interface Program {
  name: string
  description: string
  commands(context: CommandContext): SubCommandsDef
}

export const svc: Program = {
  name: 'svc',
  description: 'Administration on the host',
  commands: (context) => ({
    token: token(context),
    'add-user': addUser(context),
    invitation: invitation(context),
    users: users(context),
    'set-role': setRole(context),
    'set-groups': setGroups(context),
    'set-password': setPassword(context),
    'disable-user': switchUser(context, true),
    'enable-user': switchUser(context, false),
    'rename-user': renameUser(context),
    'bind-user': bindUser(context),
    'export-user': exportUser(context),
    'remove-user': removeUser(context),
    'update-avatar': updateAvatar(context),
    backup: backup(context),
    models: models(context),
    mcp: mcp(context),
    app: app(context),
    prices: prices(context),
    usage: usage(context),
    limits: limits(context),
    files: files(context),
    audit: audit(context),
    realtime: realtime(context),
    deprecations: deprecations(context),
    settings: settings(context),
    migrate: migrate(context),
    restored: restored(context),
    announcement: announcement(context),
    'migration:make': makeMigration(context),
    completion: completion(context, 'svc', () => svc.commands(context)),
  }),
}

/** The program with the command names of the specification and of earlier versions. */
export const svcConsole: Program = {
  name: 'svc-console',
  description: 'Administration on the host',
  commands: (context) => ({
    ...consoleCommands(context),
    completion: completion(context, 'svc-console', () => svcConsole.commands(context)),
  }),
}

export const createRoot = ({ name, description, commands }: Program, context: CommandContext) =>
  defineCommand({ meta: { name, description }, subCommands: commands(context) })
