import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import type { Assistant } from '../shared/api/client.ts'
import { findAnsweringModel, toggleFavouriteAssistant, useAssistants } from '../shared/models/assistants.ts'
import { useModels } from '../shared/models/models.ts'
import { t } from '../shared/text/labels.ts'
import { foldText } from '../shared/text/word-pattern.ts'
import { getButtonClass } from '../shared/ui/button.tsx'
import { ErrorNotice } from '../shared/ui/error-message.tsx'
import { Input } from '../shared/ui/input.tsx'
import { Lead, Page, PagePlaceholder } from '../shared/ui/page.tsx'
import { PageHead, usePageTitle } from '../shared/ui/page-head.tsx'
import { Section } from '../shared/ui/section.tsx'
import { Skeleton } from '../shared/ui/skeleton.tsx'
import { AssistantCard } from './assistant-card.tsx'
import styles from './gallery-page.module.css'
import { HeadLabel } from './head-label.tsx'

/** Shows the assistants that the person may use or change. */
export function GalleryPage() {
  usePageTitle(t('app.assistants'))
  const { data: assistants, error } = useAssistants({ isFresh: true })
  return (
    <Page>
      <PageHead>
        <h1>{t('app.assistants')}</h1>
        {assistants?.length !== 0 && (
          <Link to="/assistants/new" className={getButtonClass('primary')}>
            <HeadLabel icon="plus" text={t('app.assistants.new')} />
          </Link>
        )}
      </PageHead>
      {assistants?.length === 0 ? <NoAssistants /> : <Gallery assistants={assistants} error={error} />}
    </Page>
  )
}

const NoAssistants = () => (
  <PagePlaceholder>
    <Lead>{t('app.assistants.none')}</Lead>
    <p>{t('app.assistants.about')}</p>
    <Link to="/assistants/new" className={getButtonClass('primary')}>
      {t('app.assistants.makeFirst')}
    </Link>
  </PagePlaceholder>
)

/** From this number on, a search is of use. */
const SEARCHED_FROM = 5

function Gallery({ assistants, error }: { assistants: readonly Assistant[] | undefined; error: unknown }) {
  const [text, setText] = useState('')
  // A card moves to another group with its mark, and would lose what it says there.
  const [unmarked, setUnmarked] = useState<{ handle: string; error: unknown }>()
  const toggle = (assistant: Assistant) => {
    setUnmarked(undefined)
    const { handle } = assistant
    toggleFavouriteAssistant(assistant).catch((error: unknown) => setUnmarked({ handle, error }))
  }
  const found = (assistants ?? []).filter((each) => isMatch(each, text))
  const groups = [
    { title: t('app.model.favourites'), items: found.filter(({ isFavorite }) => isFavorite) },
    { title: t('app.assistants.own'), items: found.filter((each) => each.mayEdit && !each.isFavorite) },
    { title: t('app.assistants.shared'), items: found.filter((each) => !(each.mayEdit || each.isFavorite)) },
  ]
  return (
    <div className={styles.gallery}>
      <ErrorNotice error={error} />
      {!(assistants || error) && <Skeleton />}
      {assistants && assistants.length >= SEARCHED_FROM && (
        <Input
          type="search"
          value={text}
          maxLength={120}
          aria-label={t('app.assistants.search')}
          placeholder={t('app.assistants.search')}
          onChange={({ target }) => setText(target.value)}
        />
      )}
      {assistants && found.length === 0 && <p role="status">{t('app.assistants.nothing')}</p>}
      {groups.map(
        ({ title, items }) =>
          items.length > 0 && <Cards key={title} title={title} items={items} toggle={toggle} unmarked={unmarked} />,
      )}
    </div>
  )
}

interface CardsProps {
  title: string
  items: readonly Assistant[]
  /** Marks an assistant as a favourite, or no longer. */
  toggle: (assistant: Assistant) => void
  /** The assistant for which that has just failed. */
  unmarked: { handle: string; error: unknown } | undefined
}

function Cards({ title, items, toggle, unmarked }: CardsProps) {
  const { data: models } = useModels()
  return (
    <Section title={title} className={styles.group}>
      <ul className={styles.cards}>
        {items.map((each) => (
          <AssistantCard
            key={each.handle}
            assistant={each}
            isOff={models !== undefined && !findAnsweringModel(each, models)}
            toggle={() => toggle(each)}
            error={unmarked?.handle === each.handle ? unmarked.error : undefined}
          />
        ))}
      </ul>
    </Section>
  )
}

/** Returns true if an assistant has each word in its name, handle, description or owner. */
function isMatch({ name, handle, description, owner, tags }: Assistant, query: string): boolean {
  const text = foldText(`${name} ${handle} ${description} ${owner ?? ''} ${tags.join(' ')}`)
  return foldText(query)
    .split(/\s+/)
    .every((word) => text.includes(word))
}
