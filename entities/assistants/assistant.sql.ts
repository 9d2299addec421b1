import { AiModel } from '../catalogue/ai-model.ts'
import { AiModelUsageRule } from '../catalogue/ai-model-usage-rule.ts'
import { AiProvider } from '../catalogue/ai-provider.ts'
import { catalogueVersion } from '../catalogue/catalogue-version.sql.ts'
import { pictureIdentifier } from '../identity/picture.ts'
import { User } from '../identity/user.ts'
import { isForGroups } from '../sql/groups.ts'
import { coalescedStatement, isoTime, statement } from '../sql/statement.ts'
import { Assistant, AssistantEditor, AssistantFavorite, type Audience } from './assistant.ts'
import { isEditor } from './assistant-scope.ts'
import { type AssistantParameters, AssistantVersion } from './assistant-version.ts'
import { Knowledge, KnowledgeFile } from './knowledge.ts'
import { KnowledgeIndex } from './knowledge-vectors.ts'

const assistants = Assistant.tableName
const editors = AssistantEditor.tableName
const favorites = AssistantFavorite.tableName
const versions = AssistantVersion.tableName
const users = User.tableName

/** SQL: a person may use what is published of the assistant. Their groups are those of the person, also for administrators. */
export const isUser = (row: string, { person, groups }: { person: string; groups: string }) =>
  `(${isEditor(row, person)} or ${row}.audience = 'all' or (${row}.audience = 'groups' and ${row}.groups && ${groups}))`

/** SQL: an administrator approved the version `v` for all, or it is the one that answers. */
export const isApproved = '(v.approved_at is not null or v.number = a.published)'

/** SQL: a hash of the paths and fingerprints of the readable files of a knowledge; null for null. */
export const hashKnowledge = (id: string) =>
  `case when ${id} is not null then (select encode(sha256(convert_to(
            coalesce(string_agg(f.path || chr(1) || f.fingerprint, chr(1) order by f.path collate "C"), ''), 'utf8')), 'hex')
            from ${KnowledgeFile.tableName} f where f.knowledge_id = ${id} and f.state = 'ready') end`

const viewer = { person: '$1::int', groups: '$2::text[]' }

/** SQL: a person who may use the assistant may copy it. */
const isRemixable = (row: string, person: string) => `(${row}.allow_remix or ${isEditor(row, person)})`

interface VersionSettings {
  number: number
  model: string
  fallback: string[]
  parameters: AssistantParameters
  tools: string[] | null
  /** The id of the knowledge that its users ask through it; null without. */
  knowledge: number | null
  /** Sealed. */
  texts: string
}

/** A version of an assistant with all that a call needs, and with what decides who may call it. */
export interface CallableAssistantRow extends VersionSettings {
  /** Version of the catalogue in which it was read; null if it was read for this call. */
  catalogue: number | null
  id: number
  /** True if this version was published once; only editors may use another one. */
  isReleased: boolean
  /** True if an administrator approved this version for all, or if it is the published one. */
  isApproved: boolean
  audience: Audience
  groups: string[]
  /** Ids of the people who may change it: its owner and its editors. */
  editorIds: number[]
  allowModelSelect: boolean
}

/** Finds the published version of an assistant, or another one. Values: the handle, and the number of the version or null. */
export const findCallableAssistant = coalescedStatement<CallableAssistantRow>(
  'find-callable-assistant',
  `select ${catalogueVersion}::float8 as catalogue, a.id, v.number, v.model, to_json(v.fallback) as fallback, v.parameters, to_json(v.tools) as tools,
          v.knowledge_id as knowledge, v.texts, v.published_at is not null as "isReleased", ${isApproved} as "isApproved",
          v.allow_model_select as "allowModelSelect", a.audience, to_json(a.groups) as groups,
          to_json(array(select x.user_id from ${editors} x where x.assistant_id = a.id union select a.owner_id where a.owner_id is not null))
            as "editorIds"
     from ${assistants} a join ${versions} v on v.assistant_id = a.id and v.number = coalesce($2::int, a.published)
    where a.handle = $1`,
)

export interface OfferedAssistant {
  handle: string
  name: string
  /** In seconds since 1970. */
  created: number
}

/**
 * SQL: assistants `a` with their published versions `v` that a person may use and of whose models they may use one. Takes
 * placeholders of the usage type, and of groups for access to models or null for all; `$1` and `$2` are the person's id and groups.
 */
export const offeredAssistants = (usage: string, modelGroups: string) =>
  `${assistants} a join ${versions} v on v.assistant_id = a.id and v.number = a.published
    where ${isUser('a', viewer)}
      and exists (select from ${AiModel.tableName} m join ${AiProvider.tableName} p on p.id = m.provider_id
                    join ${AiModelUsageRule.tableName} r on r.model_id = m.id and r.usage_type = ${usage}
                   where m.model_id = any(v.model || v.fallback) and m.active and p.active and m.model_type = 'chat'
                     and ${isForGroups('m', modelGroups)} and ${isForGroups('p', modelGroups)})`

/**
 * Lists the assistants that requests may name. Values: the person's id and groups, the usage type, the groups for access to
 * models or null for all, and the ids to which a token is bound, or null for all.
 */
export const listOfferedAssistants = statement<OfferedAssistant>(
  'list-offered-assistants',
  `select a.handle, v.name, extract(epoch from a.created_at)::int as created
     from ${offeredAssistants('$3', '$4::text[]')} and ($5::int[] is null or a.id = any($5::int[]))
    order by a.handle limit 1000`,
)

export interface ListedAssistant {
  handle: string
  name: string
  description: string
  tags: string[]
  /** The identifier of its picture below `/proxy/storage/`. */
  avatar: string | null
  audience: Audience
  /** The number of the published version; null before one was published. */
  published: number | null
  latest: number
  /** The number of the version that waits for approval. Only editors see it. */
  waiting: number | null
  /** The display name of the owner; null for an assistant of the installation. */
  owner: string | null
  mayEdit: boolean
  isOwner: boolean
  /** True if the person may copy it into an assistant of their own. */
  mayRemix: boolean
  model: string
  /** The models that answer where its own cannot, in order. */
  fallback: string[]
  /** The parameters that no request changes. */
  parameters: AssistantParameters
  /** True if people may have another model answer with its instructions. */
  allowModelSelect: boolean
  isFavorite: boolean
  /** The files from which its answers may quote; null without. */
  knowledge: ShownKnowledge | null
}

interface ShownKnowledge {
  name: string
  /** The model that may read what is searched there; null if searches go by words. */
  embedding: string | null
}

/** SQL: drafts show the texts of their newest version, everything else those of the published one. */
export const shownVersion = 'v.number = coalesce(a.published, a.latest)'

const avatarOf = (version: string) => pictureIdentifier('assistant_avatars', `${version}.avatar`)

const isFavorite = (row: string, person: string) =>
  `exists (select from ${favorites} f where f.assistant_id = ${row}.id and f.user_id = ${person})`

/** SQL: the knowledge of a version, as its users see it. */
const shownKnowledge = (version: string, isEmbedding: string) =>
  `(select json_build_object('name', k.name, 'embedding', case when ${isEmbedding} then (select i.model from ${KnowledgeIndex.tableName} i where i.state = 'active') end)
            from ${Knowledge.tableName} k where k.id = ${version}.knowledge_id and ${isEditor('a', 'k.owner_id')})`

/** SQL: a person sees an assistant that they may use, and drafts that they may change. */
const isSeen = `${isUser('a', viewer)} and (a.published is not null or ${isEditor('a', viewer.person)})`

/**
 * Lists the assistants that a person may use or change, by name. Values: the person's id and groups, the number of rows,
 * and of those before them, a tag or null, true for favorites alone, and whether questions are embedded.
 */
export const listAssistants = statement<{ assistant: ListedAssistant; total: number }>(
  'list-assistants',
  `select json_build_object('handle', a.handle, 'name', v.name, 'description', v.description, 'tags', v.tags, 'avatar', ${avatarOf('v')}, 'audience', a.audience,
            'published', a.published, 'latest', a.latest, 'waiting', case when ${isEditor('a', viewer.person)} then a.proposed end,
            'owner', o.name, 'mayEdit', ${isEditor('a', viewer.person)}, 'isOwner', a.owner_id is not distinct from ${viewer.person},
            'mayRemix', ${isRemixable('a', viewer.person)}, 'isFavorite', ${isFavorite('a', viewer.person)},
            'model', v.model, 'fallback', v.fallback, 'parameters', v.parameters,
            'allowModelSelect', v.allow_model_select, 'knowledge', ${shownKnowledge('v', '$7::bool')}) as assistant,
          (count(*) over ())::int as total
     from ${assistants} a join ${versions} v on v.assistant_id = a.id and ${shownVersion}
     left join ${users} o on o.id = a.owner_id
    where ${isSeen} and ($5::text is null or $5::text = any(v.tags)) and (not $6::bool or ${isFavorite('a', viewer.person)})
    order by lower(v.name), a.id limit $3::int offset $4::int`,
)

interface AssistantRow extends ListedAssistant {
  version: number
  /** Sealed. */
  texts: string
  groups: string[]
  allowRemix: boolean
  /** Usernames, in the order in which they would inherit. */
  editors: string[]
  /** The version that an administrator refused, and the reason. */
  refusal: { version: number; reason: string } | null
}

const editorNames = `to_json(array(select u.username from ${editors} x join ${users} u on u.id = x.user_id
            where x.assistant_id = a.id order by x.id))`

/** Finds an assistant that a person may use or change. Values: the person's id and groups, the handle, and whether questions are embedded. */
export const findAssistant = statement<AssistantRow>(
  'find-assistant',
  `select a.handle, v.name, v.description, to_json(v.tags) as tags, ${avatarOf('v')} as avatar, a.audience, a.published, a.latest,
          a.proposed as waiting, case when a.refused is not null then json_build_object('version', a.refused, 'reason', a.refusal) end as refusal,
          o.name as owner, v.allow_model_select as "allowModelSelect", ${isFavorite('a', viewer.person)} as "isFavorite",
          ${isEditor('a', viewer.person)} as "mayEdit", a.owner_id is not distinct from ${viewer.person} as "isOwner",
          ${isRemixable('a', viewer.person)} as "mayRemix", v.number as version, v.model, to_json(v.fallback) as fallback, v.parameters,
          ${shownKnowledge('v', '$4::bool')} as knowledge, v.texts, to_json(a.groups) as groups, a.allow_remix as "allowRemix", ${editorNames} as editors
     from ${assistants} a join ${versions} v on v.assistant_id = a.id and ${shownVersion}
     left join ${users} o on o.id = a.owner_id
    where a.handle = $3 and ${isSeen}`,
)

/**
 * Marks an assistant that a person sees as a favorite, or no longer; selects nothing if they see none. Values: the
 * person's id and groups, the handle, and true or false.
 */
export const setFavorite = statement<{ handle: string }>(
  'set-favorite-assistant',
  `with seen as (select a.id, a.handle from ${assistants} a where a.handle = $3 and ${isSeen}),
        added as (insert into ${favorites} (user_id, assistant_id) select $1::int, id from seen where $4::bool on conflict do nothing),
        gone as (delete from ${favorites} f using seen where f.assistant_id = seen.id and f.user_id = $1::int and not $4::bool)
   select handle from seen`,
)

export interface ListedVersion {
  number: number
  name: string
  /** The display name of who saved it; null for the host, and for a person who was erased. */
  author: string | null
  createdAt: string
  publishedAt: string | null
  /** The first time that an administrator approved it for all. */
  approvedAt: string | null
  /** True if the files that it searches are others by now than when it was saved. */
  hasChangedFiles: boolean
}

/** Lists the versions of an assistant that a person may change, the newest first. Values: the person's id, and the handle. */
export const listVersions = statement<ListedVersion>(
  'list-assistant-versions',
  `with found as (
     select v.number, v.name, v.created_at, v.published_at, v.approved_at, v.knowledge_id, v.knowledge_hash, u.name as author
       from ${assistants} a join ${versions} v on v.assistant_id = a.id left join ${users} u on u.id = v.author_id
      where a.handle = $2 and ${isEditor('a', '$1::int')}),
   current as materialized (
     select k.id, ${hashKnowledge('k.id')} as hash from (select distinct knowledge_id as id from found where knowledge_id is not null) k)
   select v.number, v.name, v.author, ${isoTime('v.created_at')} as "createdAt", ${isoTime('v.published_at')} as "publishedAt",
          ${isoTime('v.approved_at')} as "approvedAt", v.knowledge_hash is distinct from c.hash as "hasChangedFiles"
     from found v left join current c on c.id = v.knowledge_id order by v.number desc`,
)

export interface VersionRow extends VersionSettings {
  name: string
  description: string
  tags: string[]
  allowModelSelect: boolean
  /** The storage key of the picture. */
  avatar: string | null
  /** The identifier of the picture below `/proxy/storage/`. */
  picture: string | null
}

const versionColumns = `v.number, v.name, v.description, v.model, to_json(v.fallback) as fallback, v.parameters,
          to_json(v.tools) as tools, v.knowledge_id as knowledge, v.texts, to_json(v.tags) as tags, v.allow_model_select as "allowModelSelect", v.avatar, ${avatarOf('v')} as picture`

/** Finds a version of an assistant that a person may change. Values: the person's id, the handle, and the number. */
export const findVersion = statement<VersionRow & { hasLostFiles: boolean }>(
  'find-assistant-version',
  `select ${versionColumns},
          v.knowledge_hash is not null and not exists (select from ${Knowledge.tableName} k
            where k.id = v.knowledge_id and ${isEditor('a', 'k.owner_id')}) as "hasLostFiles"
     from ${assistants} a join ${versions} v on v.assistant_id = a.id and v.number = $3::int
    where a.handle = $2 and ${isEditor('a', '$1::int')}`,
)

/**
 * Finds the version of an assistant that a person copies: the published one, or the newest one of a draft that they may
 * change. Values: the person's id and groups, and the handle.
 */
export const findRemixable = statement<VersionRow & { mayRemix: boolean; ownsKnowledge: boolean }>(
  'find-remixable-assistant',
  `select ${versionColumns}, ${isRemixable('a', viewer.person)} as "mayRemix",
          exists (select from ${Knowledge.tableName} k where k.id = v.knowledge_id and k.owner_id = ${viewer.person}) as "ownsKnowledge"
     from ${assistants} a join ${versions} v on v.assistant_id = a.id and ${shownVersion}
    where a.handle = $3 and ${isSeen}`,
)

/** Finds a version of a locked assistant. Values: the assistant's id, and the number. */
export const findVersionOf = statement<VersionRow>(
  'find-version-of-assistant',
  `select ${versionColumns} from ${versions} v where v.assistant_id = $1::int and v.number = $2::int`,
)

export interface LockedAssistant {
  id: number
  handle: string
  ownerId: number | null
  owner: string | null
  audience: Audience
  groups: string[]
  allowRemix: boolean
  editors: string[]
  published: number | null
  latest: number
  /** The number of the version that waits for approval. */
  proposed: number | null
}

const lockEditable = (isMeant: string) =>
  `select a.id, a.handle, a.owner_id as "ownerId", (select u.username from ${users} u where u.id = a.owner_id) as owner,
          a.audience, to_json(a.groups) as groups, a.allow_remix as "allowRemix", ${editorNames} as editors, a.published, a.latest, a.proposed
     from ${assistants} a where ${isMeant} and ($1::int is null or ${isEditor('a', '$1::int')}) for update of a`

/**
 * Locks an assistant that a person may change; null as the person stands for the host, which may change all. Values: the
 * person's id, and the handle.
 */
export const lockAssistant = statement<LockedAssistant>('lock-assistant', lockEditable('a.handle = $2'))

/** Locks an assistant that a person may change. Values: the person's id, and that of the assistant. */
export const lockAssistantById = statement<LockedAssistant>('lock-assistant-by-id', lockEditable('a.id = $2::int'))

/** Values: the owner's id. */
export const countOwnAssistants = statement<{ count: number }>(
  'count-own-assistants',
  `select count(*)::int as count from ${assistants} where owner_id = $1::int`,
)

/**
 * Selects nothing if an assistant has the handle, or a person: rooms mention both in the same way. Values: the handle, and
 * the id of the owner or null.
 */
export const insertAssistant = statement<{ id: number }>(
  'insert-assistant',
  `insert into ${assistants} (handle, owner_id)
   select $1::text, $2::int where not exists (select from ${users} u where u.username = $1::text) on conflict (handle) do nothing returning id`,
)

/**
 * Adds a version, and makes it the newest one. Values: the assistant's id, the number, the author's id or null, name,
 * description, model, fallbacks, parameters as JSON, tools or null, the sealed texts, tags, whether people may choose another model, and the
 * storage key of the picture or null, and the id of the knowledge or null.
 */
export const insertVersion = statement<never>(
  'insert-assistant-version',
  `with added as (
     insert into ${versions} (assistant_id, number, author_id, name, description, model, fallback, parameters, tools, texts, tags,
       allow_model_select, avatar, knowledge_id, knowledge_hash)
     values ($1::int, $2::int, $3::int, $4, $5, $6, $7::text[], $8::jsonb, $9::text[], $10, $11::text[], $12::bool, $13, $14::int, ${hashKnowledge('$14::int')})
   )
   update ${assistants} set latest = $2::int, updated_at = now() where id = $1::int`,
)

/**
 * Publishes a version, which then waits no more; where another one waits for an assistant that is not for all yet, this
 * one waits in its place, unless it is approved already. Selects nothing if there is no such version. Values: the assistant's id, the number, and whether
 * it is approved for all.
 */
export const publishVersion = statement<{ number: number }>(
  'publish-assistant-version',
  `with version as (
     update ${versions} set published_at = coalesce(published_at, now()), approved_at = case when $3::bool then coalesce(approved_at, now()) else approved_at end
      where assistant_id = $1::int and number = $2::int returning number, approved_at
   )
   update ${assistants} set published = version.number, updated_at = now(),
          proposed = case when audience <> 'all' and proposed is not null and version.approved_at is null then version.number end,
          proposed_at = case when audience <> 'all' and version.approved_at is null then proposed_at end,
          refused = case when not $3::bool then refused end, refusal = case when not $3::bool then refusal end
     from version where id = $1::int returning version.number`,
)

/** Whatever waits is withdrawn with another audience than all. Values: the assistant's id, audience, groups, and whether its users may copy it. */
export const setAudience = statement<never>(
  'set-assistant-audience',
  `update ${assistants} set audience = $2::text, groups = $3::text[], allow_remix = $4, updated_at = now(),
          proposed = case when $2::text = 'all' then proposed end, proposed_at = case when $2::text = 'all' then proposed_at end where id = $1::int`,
)

/** Values: the assistant's id, and the id of the owner or null. */
export const setOwner = statement<never>(
  'set-assistant-owner',
  `update ${assistants} set owner_id = $2::int, updated_at = now() where id = $1::int`,
)

/**
 * Makes an editor the owner of an assistant, and its owner the last editor; selects nothing if the username is that of no
 * editor. Values: the assistant's id, the owner's id, and the username.
 */
export const handOverAssistant = statement<{ owner: number }>(
  'hand-over-assistant',
  `with heir as (
     delete from ${editors} e using ${users} u where e.assistant_id = $1::int and u.id = e.user_id and u.username = $3::text returning e.user_id
   ), added as (
     insert into ${editors} (assistant_id, user_id) select $1::int, $2::int from heir on conflict do nothing
   )
   update ${assistants} set owner_id = heir.user_id, updated_at = now() from heir where id = $1::int returning owner_id as owner`,
)

/** Selects the people of these usernames. Values: usernames. */
export const findEditors = statement<{ id: number; username: string }>(
  'find-assistant-editors',
  `select id, username from ${users} where username = any($1::text[]) and public_key is not null`,
)

/** Replaces the editors; who stays keeps the place in the order. Values: the assistant's id, and ids of people. */
export const replaceEditors = statement<never>(
  'replace-assistant-editors',
  `with gone as (delete from ${editors} where assistant_id = $1::int and user_id <> all($2::int[]))
   insert into ${editors} (assistant_id, user_id)
   select $1::int, e.id from unnest($2::int[]) with ordinality as e(id, n) order by e.n on conflict do nothing`,
)

/** Values: the assistant's id, and the id of an editor. */
export const removeEditor = statement<never>(
  'remove-assistant-editor',
  `delete from ${editors} where assistant_id = $1::int and user_id = $2::int`,
)

/** Deletes an assistant, and selects the storage keys of its pictures. Values: the assistant's id. */
export const deleteAssistant = statement<{ avatar: string }>(
  'delete-assistant',
  `with gone as (delete from ${assistants} where id = $1::int)
   select distinct v.avatar from ${versions} v where v.assistant_id = $1::int and v.avatar is not null`,
)

/**
 * Gives the assistants of a person who is being erased to their first editors, if they have any, and counts those that the
 * person could change. Values: the person's id.
 */
export const giveToEditors = statement<{ given: number; known: number }>(
  'give-assistants-to-editors',
  `with heirs as (
     select distinct on (a.id) a.id as assistant, e.user_id as person, e.id as editor
       from ${assistants} a join ${editors} e on e.assistant_id = a.id where a.owner_id = $1::int order by a.id, e.id
   ), given as (
     update ${assistants} a set owner_id = h.person, updated_at = now() from heirs h where a.id = h.assistant returning a.id
   ), gone as (
     delete from ${editors} e using heirs h where e.id = h.editor
   )
   select (select count(*)::int from given) as given,
          (select count(*)::int from ${assistants} a where ${isEditor('a', '$1::int')}) as known`,
)

/** An assistant as the host and administrators see it, without its texts. */
export interface AssistantSummary {
  handle: string
  name: string
  /** The username of the owner; null for an assistant of the installation. */
  owner: string | null
  audience: Audience
  groups: string[]
  published: number | null
  latest: number
  /** The model of the version that answers, or of the newest one. */
  model: string
}

/** Lists all assistants by their handles. Values: the number of rows, and of those before them. */
export const summarizeAssistants = statement<{ assistant: AssistantSummary; total: number }>(
  'summarize-assistants',
  `select json_build_object('handle', a.handle, 'name', v.name, 'owner', o.username, 'audience', a.audience, 'groups', a.groups,
            'published', a.published, 'latest', a.latest, 'model', v.model) as assistant, (count(*) over ())::int as total
     from ${assistants} a join ${versions} v on v.assistant_id = a.id and ${shownVersion}
     left join ${users} o on o.id = a.owner_id
    order by a.handle limit $1::int offset $2::int`,
)

/** Lists sealed texts after an id. Values: the id, and the number of rows. */
export const listTextsAfter = statement<{ id: number; sealed: string }>(
  'list-assistant-texts-after',
  `select id, texts as sealed from ${versions} where id > $1::int order by id limit $2::int`,
)

/** Replaces sealed texts. Values: ids, sealed texts, and the new ones. */
export const replaceTexts = statement<{ id: number }>(
  'replace-assistant-texts',
  `update ${versions} v set texts = n.resealed from unnest($1::int[], $2::text[], $3::text[]) as n(id, sealed, resealed)
    where v.id = n.id and v.texts = n.sealed returning v.id`,
)
