import type { TargetType } from '../api.ts'
import { applies, demand, demandStatus, each } from '../check.ts'
import type { Answer } from '../client.ts'
import type { JsonObject } from '../json.ts'
import { chapter } from '../obligation.ts'
import type { TargetServer } from '../target.ts'
import { NOTHING_MADE } from '../writing.ts'

const { must, should } = chapter('deleting')

const eachRemoved = (
  server: TargetServer,
  check: (answer: Answer, type: TargetType, resource: JsonObject) => unknown,
) =>
  each(server.makeable(), NOTHING_MADE, async (type) => {
    const resource = await server.make(type)
    return check(await server.send('DELETE', server.pathOf(type, resource['id'])), type, resource)
  })

export const deleting = [
  must('status', 'Deleting Resources [2042]', 'A removal gives 200, 202 or 204.', (server) =>
    eachRemoved(server, (answer) => demandStatus(answer, 200, 202, 204)),
  ),

  must('no-data', 'Deleting Resources [2047]', 'An answer with status 200 has meta and no data.', (server) =>
    eachRemoved(server, ({ at, status, document }) => {
      applies(status === 200, 'no removal gives 200')
      demand(!('data' in document), at, 'data in the answer to a removal')
    }),
  ),

  must('gone', 'Deleting Resources [2042]', 'What was removed is not there any more.', (server) =>
    eachRemoved(server, async ({ status }, type, resource) => {
      applies(status === 200 || status === 204, 'nothing was removed at once')
      demandStatus(await server.get(server.pathOf(type, resource['id'])), 404)
    }),
  ),

  should('missing', 'Deleting Resources [2053]', 'A removal of what is not there gives 404.', (server) =>
    each(server.makeable(), NOTHING_MADE, async (type) =>
      demandStatus(await server.send('DELETE', server.pathOf(type, server.missingId)), 404),
    ),
  ),
]
