import { applies, demand, demandEqual, demandStatus, each, type Finding, refuse } from '../check.ts'
import type { Answer } from '../client.ts'
import { isObject, isUri, type JsonObject, object, short, texts } from '../json.ts'
import { MEDIA_TYPE, mediaTypeParameter } from '../media-type.ts'
import { chapter } from '../obligation.ts'
import type { TargetServer } from '../target.ts'
import { resourceParts } from '../walk.ts'

const { must, should } = chapter('extensions')

const UNKNOWN = 'https://example.org/conformance/unknown'

const KINDS = ['ext', 'profile'] as const
type Kind = (typeof KINDS)[number]

const NOTHING_DECLARED = { ext: 'no extension is declared', profile: 'no profile is declared' }

/** A collection, asked for with a list of extensions or profiles. */
async function readWith(server: TargetServer, kind: Kind, uris: string[]): Promise<Answer> {
  const [type] = server.typesWith('list')
  applies(type !== undefined, 'no collection can be read')
  return server.get(type.path, '', { accept: `${MEDIA_TYPE}; ${kind}="${uris.join(' ')}"` })
}

async function listApplied(server: TargetServer, kind: Kind, uris: string[]): Promise<void> {
  applies(uris.length > 1, `there are no two to list: ${NOTHING_DECLARED[kind]}`)
  const answer = await readWith(server, kind, uris)
  demandStatus(answer, 200)
  demandListed(answer, kind, uris)
}

const demandListed = (answer: Answer, kind: Kind, uris: string[]) =>
  demandEqual(appliedTo(answer, kind).toSorted(), uris.toSorted(), answer.at, `${kind} of the content type`)

/** A collection, asked for with each extension or profile that the server declares, beside the plain answer. */
const eachApplied = (server: TargetServer, kind: Kind, check: (applied: Answer, plain: Answer, uri: string) => void) =>
  each(server.api[kind], NOTHING_DECLARED[kind], async (uri) => {
    const applied = await readWith(server, kind, [uri])
    demandStatus(applied, 200)
    check(applied, await server.get(applied.url), uri)
  })

const appliedTo = ({ headers }: Answer, kind: Kind) => mediaTypeParameter(headers.get('content-type') ?? '', kind)

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
      each(server.api.ext, NOTHING_DECLARED.ext, async (uri) =>
        demandStatus(await readWith(server, 'ext', [uri, UNKNOWN]), 406),
      ),
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

  must('ext-list', 'Server Responsibilities [196]', 'Of a list of known extensions each is applied.', (server) =>
    listApplied(server, 'ext', server.api.ext),
  ),

  should(
    'profile-list',
    'Server Responsibilities [200, 252]',
    'Of a list of known profiles each is applied.',
    (server) => listApplied(server, 'profile', server.api.profile),
  ),

  should(
    'profile-beside-unknown',
    'Server Responsibilities [251-252]',
    'A known profile is applied though an unknown one stands before it in the list.',
    (server) =>
      each(server.api.profile, NOTHING_DECLARED.profile, async (uri) => {
        const answer = await readWith(server, 'profile', [UNKNOWN, uri])
        demandStatus(answer, 200)
        demandListed(answer, 'profile', [uri])
      }),
  ),

  must(
    'unknown-beside-known-sent',
    'Server Responsibilities [235]',
    'A request type that lists an unknown extension beside a known one gives 415.',
    (server) =>
      each(server.makeable(), 'nothing can be made', async (type) => {
        const [uri] = server.api.ext
        applies(uri !== undefined, NOTHING_DECLARED.ext)
        const headers = { 'content-type': `${MEDIA_TYPE}; ext="${uri} ${UNKNOWN}"` }
        demandStatus(await server.create(type, await server.newDocument(type), headers), 415)
      }),
  ),

  must(
    'lists',
    'Universal Responsibilities [193-200]',
    'ext and profile of the media type are lists of URIs with one space between.',
    async (server) => {
      await server.survey()
      const values = server.seen.flatMap(({ at, headers }) =>
        [...(headers.get('content-type') ?? '').matchAll(/;\s*(?:ext|profile)=(?:"([^"]*)"|([^\s;]*))/g)].map(
          ([, quoted, bare]) => ({ at, value: quoted ?? bare ?? '' }),
        ),
      )
      applies(values.length > 0, 'nothing was applied')
      const wrong = values.filter(({ value }) => !value.split(' ').every((uri) => isUri(uri)))
      refuse(wrong.map(({ at, value }) => ({ at, seen: `the list "${value}"` })))
    },
  ),

  must(
    'lists-agree',
    'JSON:API Object [823-834]',
    'The jsonapi object lists the extensions and profiles that the media type lists.',
    async (server) => {
      const answers = (await server.documents()).filter(({ document }) => isObject(document['jsonapi']))
      const listed = answers.flatMap((answer) =>
        KINDS.flatMap((kind) => {
          const shown = object(answer.document['jsonapi'])[kind]
          return shown === undefined
            ? []
            : [{ at: answer.at, kind, shown: texts(shown), applied: appliedTo(answer, kind) }]
        }),
      )
      applies(listed.length > 0, 'no jsonapi object has such a list')
      const wrong = listed.filter(({ shown, applied }) => shown.toSorted().join() !== applied.toSorted().join())
      refuse(
        wrong.map(({ at, kind, shown, applied }) => ({ at, seen: `${kind} ${short(shown)}, not ${short(applied)}` })),
      )
    },
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
