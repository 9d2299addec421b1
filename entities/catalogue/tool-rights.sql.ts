import { User } from '../identity/user.ts'
import { statement } from '../sql/statement.ts'
import { approvalVersion, isAsApproved } from './tool-approval.sql.ts'

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
       where t.id = a.tool and t.active and (t.tool_type = 'function' or (${isAsApproved('t')} and a.approval = ${approvalVersion('t', 's')}))
         and (not a.by_program or coalesce(s.gateway, true))
         and (u.role = 'admin' or (
           (t.groups = '{}' or t.groups && u.groups) and (coalesce(s.groups, '{}') = '{}' or s.groups && u.groups))))`,
)
