import { applies, chapter, demand, demandEqual, demandStatus, each, type Finding, refuse } from '../check.ts'
import type { Answer } from '../client.ts'
import type { JsonObject } from '../json.ts'
import { MEDIA_TYPE, mediaTypeParameter } from '../openapi.ts'
import type { TargetServer } from '../target.ts'
import { resourceParts } from '../walk.ts'

const { must, should } = chapter('extensions')

const UNKNOWN = 'https://example.org/conformance/unknown'

/** A collection, asked for with each extension or profile that the server declares, beside the plain answer. */
const eachApplied = (
  server: TargetServer,
  kind: 'ext' | 'profile',
  check: (applied: Answer, plain: Answer, uri: string) => void,
) =>
  each(server.description[kind], `no ${kind === 'ext' ? 'extension' : 'profile'} is declared`, async (uri) => {
    const [type] = server.typesWith('list')
    applies(type !== undefined, 'no collection can be read')
    const applied = await server.get(type.path, '', { accept: `${MEDIA_TYPE}; ${kind}="${uri}"` })
    demandStatus(applied, 200)
    check(applied, await server.get(type.path), uri)
  })

const appliedTo = ({ headers }: Answer, kind: 'ext' | 'profile') =>
  mediaTypeParameter(headers.get('content-type') ?? '', kind)

const prefixed = (value: JsonObject) => Object.keys(value).filter((name) => name.includes(':') && !name.startsWith('@'))

export const extensions = [
  must(
    'ext-echoed',
    'Server Responsibilities [196]',
    'An extension that was applied stands in the type of the answer.',
    (server) =>
      eachApplied(server, 'ext', (applied, _, uri) =>
        demand(
          appliedTo(applied, 'ext').includes(uri),
          applied.at,
          `content type ${applied.headers.get('content-type')}`,
        ),
      ),
  ),

  must(
    'ext-not-unasked',
    'Server Responsibilities [196]',
    'Without being asked for, no extension is applied.',
    (server) =>
      eachApplied(server, 'ext', (_, plain) =>
        demand(appliedTo(plain, 'ext').length === 0, plain.at, `content type ${plain.headers.get('content-type')}`),
      ),
  ),

  should(
    'profile-echoed',
    'Server Responsibilities [200, 252]',
    'A known profile that was asked for is applied, and stands in the type of the answer.',
    (server) =>
      eachApplied(server, 'profile', (applied, _, uri) =>
        demand(
          appliedTo(applied, 'profile').includes(uri),
          applied.at,
          `content type ${applied.headers.get('content-type')}`,
        ),
      ),
  ),

  must(
    'unknown-beside-known',
    'Server Responsibilities [248]',
    'A known extension together with an unknown one gives 406.',
    (server) =>
      each(server.description.ext, 'no extension is declared', async (uri) => {
        const [type] = server.typesWith('list')
        applies(type !== undefined, 'no collection can be read')
        demandStatus(await server.get(type.path, '', { accept: `${MEDIA_TYPE}; ext="${uri} ${UNKNOWN}"` }), 406)
      }),
  ),

  must(
    'base-rules-hold',
    'Extension Rules [92]',
    'An extension leaves the members of the base as they are.',
    (server) =>
      eachApplied(server, 'ext', (applied, plain) =>
        demandEqual(applied.document['data'], plain.document['data'], applied.at, 'data'),
      ),
  ),

  must(
    'profile-changes-nothing',
    'Profile Rules [145]',
    'A profile leaves the members of the base as they are.',
    (server) =>
      eachApplied(server, 'profile', (applied, plain) =>
        demandEqual(applied.document['data'], plain.document['data'], applied.at, 'data'),
      ),
  ),

  must(
    'members-announced',
    'Extension Members [948]',
    'Members with a namespace appear only where an extension was applied, and the namespace is made of letters and digits.',
    async (server) => {
      const answers = await server.documents()
      const findings = answers.flatMap((answer): Finding[] => {
        const holders = [answer.document, ...resourceParts(answer.document, answer.isLinkage).map(({ value }) => value)]
        const isApplied = appliedTo(answer, 'ext').length > 0
        const wrong = holders.flatMap(prefixed).filter((name) => !isApplied || !/^[a-zA-Z0-9]+:./.test(name))
        return wrong.map((name) => ({ at: answer.at, seen: `the member ${name}` }))
      })
      refuse(findings)
    },
  ),
]
