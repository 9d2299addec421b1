import { User } from '../identity/user.ts'
import { isForGroups } from '../sql/groups.ts'
import { coalescedStatement, statement } from '../sql/statement.ts'
import type { ToolDefinition, ToolKind } from './ai-tool.ts'
import { type CallableServerRow, callableServer } from './mcp-server.sql.ts'
import { approvalVersion, isAsApproved, isTakenKind } from './tool-approval.sql.ts'

/** A tool that may be called now. */
export interface CallableToolRow {
  id: number
  name: string
  capability: string | null
  /** Groups that may call it, if its server allows them, too; everybody if empty. */
  groups: string[]
  /** The tool server and the tool's name there; null for a function of an extension. */
  mcp: {
    kind: ToolKind
    name: string
    definition: ToolDefinition
    approvalVersion: string
    server: CallableServerRow
  } | null
}

/** SQL: a callable tool and its server as JSON. */
export const callableTool = (t: string, s: string) => `json_build_object('id', ${t}.id, 'name', ${t}.name,
    'capability', coalesce(${t}.mapped_capability, ${t}.capability), 'groups', ${t}.groups,
    'mcp', case when ${s}.id is not null then json_build_object(
      'kind', ${t}.kind, 'name', ${t}.mcp_name, 'definition', ${t}.approved, 'approvalVersion', ${approvalVersion(t, s)}, 'server', ${callableServer(s)}) end)`

/**
 * SQL: the tool is switched on; if it belongs to a server, it is as it was approved, and the server can be reached. Another
 * kind than tools is named by an SQL expression.
 */
export const isCallable = (t: string, s: string, kind = "'tool'") => `(${t}.kind = ${kind} and ${t}.active
    and (${t}.tool_type = 'function' or (${isAsApproved(t)} and ${s}.status <> 'offline' and ${isTakenKind(t, s)})))`

/** All callable tools in the order of their names, which is the same in every database. */
export const listCallableTools = coalescedStatement<{ tool: CallableToolRow }>(
  'list-callable-tools',
  `select ${callableTool('t', 's')} as tool from ai_tools t left join mcp_servers s on s.id = t.server_id
    where ${isCallable('t', 's')} order by t.name collate "C" limit 10000`,
)

/** Prompts, resources or templates that may be used now, in the order of their names. Values: the kind. */
export const listCallableOffers = coalescedStatement<{ tool: CallableToolRow }>(
  'list-callable-offers',
  `select ${callableTool('t', 's')} as tool from ai_tools t join mcp_servers s on s.id = t.server_id
    where ${isCallable('t', 's', '$1')} order by t.name collate "C" limit 10000`,
)

/** Lists names of callable tools with their servers. Values: the groups of the caller, or null for all. */
export const listNamesForGroups = statement<{ name: string; serverId: number | null; server: string | null }>(
  'list-tool-names-for-groups',
  `select t.name, s.id as "serverId", s.server_label as server from ai_tools t left join mcp_servers s on s.id = t.server_id
    where ${isCallable('t', 's')} and ${isForGroups('t', '$1::text[]')} and (s.id is null or ${isForGroups('s', '$1::text[]')})
    order by t.name limit 10000`,
)

export interface ServerTool {
  id: number
  kind: ToolKind
  name: string
  serverId: number
  server: string
  /** The server's own name for it. */
  mcpName: string
  active: boolean
  /** Groups that may call it; everybody if empty. */
  groups: string[]
  /** True if its definition equals the approved one, as far as the approval knew its members. */
  isApproved: boolean
  /** True if the definition has members that the approval did not know yet. Callers get them once they are approved. */
  hasNewMembers: boolean
  definition: ToolDefinition
  /** Null if it never was approved. */
  approved: ToolDefinition | null
  /** Hash of the definition. */
  hash: string
}

/** All tools of tool servers. */
export const listServerTools = statement<ServerTool>(
  'list-server-tools',
  `select t.id, t.kind, to_json(t.groups) as groups, t.name, s.id as "serverId", s.server_label as server, t.mcp_name as "mcpName", t.active, t.mcp_config as definition,
          ${isAsApproved('t')} as "isApproved", ${isAsApproved('t')} and t.approved <> t.mcp_config as "hasNewMembers", t.approved, md5(t.mcp_config::text) as hash
     from ai_tools t join mcp_servers s on s.id = t.server_id
    where t.mcp_config is not null order by s.id, t.id`,
)

/** The names of all tools, whoever runs them. */
export const listToolNames = statement<{ name: string }>(
  'list-tool-names',
  `select name from ai_tools where kind = 'tool' limit 100000`,
)

/** Values: the id of a tool server. */
export const lockToolsOfServer = statement<never>(
  'lock-tools-of-server',
  'select from ai_tools where server_id = $1 order by id for update',
)

/** Values: the name of a tool. */
export const lockTool = statement<never>('lock-tool', 'select from ai_tools where name = $1 for update')

/**
 * Selects the calls under way whose person may not call the tool any more as it was called. Values: ids of tools, beside
 * each the id of the person, whether it is a program of the person that calls, and the version of the tool's approval.
 */
export const findForbiddenCalls = statement<{ position: number }>(
  'find-forbidden-calls',
  `select a.position::int
     from unnest($1::int[], $2::int[], $3::boolean[], $4::text[]) with ordinality as a(tool, person, by_program, approval, position)
    where not exists (
      select from ai_tools t join ${User.tableName} u on u.id = a.person left join mcp_servers s on s.id = t.server_id
       where t.id = a.tool and t.active and (t.tool_type = 'function' or (${isAsApproved('t')} and ${isTakenKind('t', 's')} and a.approval = ${approvalVersion('t', 's')}))
         and (not a.by_program or coalesce(s.gateway, true))
         and (u.role = 'admin' or (
           (t.groups = '{}' or t.groups && u.groups) and (coalesce(s.groups, '{}') = '{}' or s.groups && u.groups))))`,
)
