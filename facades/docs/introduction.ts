import type { WireNames } from '../http/names.ts'
import type { Guide } from './guides.ts'

const example = (address: string) => `\
curl ${address}/api/ai-req \\
  -H "Authorization: Bearer $TOKEN" \\
  -H "Content-Type: application/json" \\
  -d '{"payload": {"model": "demo", "messages": [{"role": "user", "content": {"text": "Hello"}}]}}'`

/** The first thing that somebody reads who wants to call the service, in Markdown. */
export const introduction = ({ basePath }: WireNames, baseUrl: string, guides: readonly Guide[]) => `\
One service, one access token: \`POST /api/ai-req\` asks a model, \`${basePath}\` is everything else as
[JSON:API 1.1](https://jsonapi.org/format/1.1/).

## First request

Make an access token on your profile page, put it into \`TOKEN\`, and ask a model:

\`\`\`sh
${example(baseUrl || 'http://127.0.0.1:3000')}
\`\`\`

${baseUrl ? '' : "`http://127.0.0.1:3000` stands for this service's address. "}\`demo\` stands for a model:
\`GET ${basePath}/ai-models\` lists those that you may use, each with its \`modelId\`. With \`Accept: text/event-stream\`
the answer comes as it is made.

## What every answer has

* \`x-request-id\`: errors name it too; quote it when you ask for help.
* An error has a \`code\` for programs and a sentence for people. 401 means that the token is missing or wrong, 403 that it
  lacks an ability, 422 that the input is not valid and where, 429 that you should wait for \`Retry-After\` seconds,
  or ask for less where there is none.

## Lists and changes

Lists take \`include\`, \`sort\`, \`filter[...]\`, \`page[number]\`, \`page[size]\` and \`fields[type]\`, each as the operation says. An
\`ETag\` sent back as \`If-None-Match\` saves an answer that has not changed; as \`If-Match\` it makes a change fail with 412 where
somebody else was faster. Creations and actions with the same \`Idempotency-Key\` happen once.

## Guides

${guides.map(({ slug, title }) => `[${title}](/docs/${slug})`).join(' · ')}
`
