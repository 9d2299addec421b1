import { Link } from '@tanstack/react-router'
import {
  describeLimit,
  describeLink,
  endAllLinks,
  endLink,
  findLinkNumber,
  getRenewalDays,
  type LinkRules,
  type OwnLink,
  renewLink,
  useLinks,
} from '../shared/own-links.ts'
import { useSession } from '../shared/session.tsx'
import { formatNumber, formatTimestamp } from '../shared/text/formats.ts'
import { t } from '../shared/text/labels.ts'
import { ItemList } from './item-list.tsx'

const KILO = 1000

/** The links of the person to copies of all their chats. */
export function LinkSettings() {
  const session = useSession()
  const { data, error } = useLinks(session.isLocked ? undefined : session.conversationKey)
  return (
    <ItemList
      title={t('app.settings.links')}
      intro={t('app.settings.linksIntro')}
      items={data?.links.map((link) => toItem(link, data))}
      error={error}
      none={t('app.settings.linksNone')}
      removeAll={data && data.links.length > 0 ? removalOfAll() : undefined}
    />
  )
}

const removalOfAll = () => ({
  text: t('app.settings.linksEnd'),
  confirmation: {
    title: t('app.settings.linksEndTitle'),
    text: t('app.settings.linksEndText'),
    action: t('app.settings.linksEnd'),
  },
  run: async () => {
    await endAllLinks()
    return t('app.settings.linksEnded')
  },
})

function toItem(link: OwnLink, { links, rules }: { links: readonly OwnLink[]; rules: LinkRules }) {
  const { id, name, slug, createdAt, bytes, isEnded } = link
  const number = findLinkNumber(
    link,
    links.filter((each) => each.slug === slug),
  )
  const days = getRenewalDays(rules)
  const made = t('app.settings.linkMade', { time: formatTimestamp(new Date(createdAt)) })
  return {
    key: id,
    name: number === undefined ? name : `${name} (${number})`,
    link: (
      <>
        <Link to="/chat/$slug" params={{ slug }}>
          {name}
        </Link>
        {number !== undefined && ` (${number})`}
      </>
    ),
    details: [bytes === null ? made : `${made} · ${formatNumber(Math.ceil(bytes / KILO))} kB`, describeLink(link)],
    warning: describeLimit(link, rules),
    action:
      isEnded || !rules.mayShare
        ? undefined
        : {
            text: t('app.share.renew', { count: days }),
            run: async () => {
              await renewLink(link, days)
              return t('app.share.renewed')
            },
          },
    confirmation: isEnded
      ? undefined
      : { title: t('app.share.endTitle'), text: t('app.share.endText'), action: t('app.share.end') },
    removeText: t(isEnded ? 'app.settings.linkRemove' : 'app.settings.linkEnd'),
    remove: async () => {
      await endLink(link)
      return t(isEnded ? 'app.settings.linkRemoved' : 'app.settings.linkEnded')
    },
  }
}
