import { User } from '../identity/user.ts'
import { statement } from '../sql/statement.ts'
import { isAsApproved } from './tool-approval.sql.ts'

/**
 * Selects the calls under way whose person may not call the tool any more. Values: ids of tools, beside each the id of
 * the person, and whether it is a program of the person that calls.
 */
export const findForbiddenCalls = statement<{ position: number }>(
  'find-forbidden-calls',
  `select a.position::int
     from unnest($1::int[], $2::int[], $3::boolean[]) with ordinality as a(tool, person, by_program, position)
    where not exists (
      select from ai_tools t join ${User.tableName} u on u.id = a.person left join mcp_servers s on s.id = t.server_id
       where t.id = a.tool and t.active and (t.tool_type = 'function' or (s.id is not null and ${isAsApproved('t')}))
         and (not a.by_program or coalesce(s.gateway, true))
         and (u.role = 'admin' or (
           (t.groups = '{}' or t.groups && u.groups) and (coalesce(s.groups, '{}') = '{}' or s.groups && u.groups))))`,
)
