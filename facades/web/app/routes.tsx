import { createRootRoute, createRoute, createRouter, redirect } from '@tanstack/react-router'
import { lazy } from 'react'
import { ChatPage } from './chat/chat-page.tsx'
import { Frame, PageFailure } from './shell/frame.tsx'

// React's `lazy` loads the pages, as the lazy loading of the router reloads the whole document when the service cannot
// be reached, and the page is lost.
const rootRoute = createRootRoute({ component: Frame, errorComponent: PageFailure })

const newChat = createRoute({
  getParentRoute: () => rootRoute,
  path: '/chat',
  // A handle, perhaps with a version, such as `helper@3`. The router reads digits as a number.
  validateSearch: ({ assistant = '' }: Record<string, unknown>): { assistant?: string } =>
    /^[a-z0-9-]{2,64}(@\d{1,9})?$/.test(String(assistant)) ? { assistant: String(assistant) } : {},
  component: () => <ChatPage />,
})

const chat = createRoute({ getParentRoute: () => rootRoute, path: '/chat/$slug', component: ExistingChat })

/** The page that imports conversations. No conversation has a slug as short as `import`. */
const importRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/chat/import',
  component: lazy(async () => ({ default: (await import('./chat/import/import-page.tsx')).ImportPage })),
})

/** The page that copies a shared chat. No conversation has a slug as short as `shared`. */
const sharedRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/chat/shared',
  component: lazy(async () => ({ default: (await import('./chat/share/continue-page.tsx')).ContinuePage })),
})

const rooms = createRoute({
  getParentRoute: () => rootRoute,
  path: '/rooms',
  component: lazy(async () => ({ default: (await import('./rooms/rooms-page.tsx')).RoomsPage })),
})

/** The page that accepts an invitation by link. No room has a slug as short as `join`. */
const joinRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/rooms/join',
  component: lazy(async () => ({ default: (await import('./rooms/join-page.tsx')).JoinPage })),
})

const room = createRoute({ getParentRoute: () => rootRoute, path: '/rooms/$slug', component: ExistingRoom })

const RoomPage = lazy(async () => ({ default: (await import('./rooms/room-page.tsx')).RoomPage }))

function ExistingRoom() {
  const { slug } = room.useParams()
  return <RoomPage slug={slug} key={slug} />
}

function ExistingChat() {
  const { slug } = chat.useParams()
  return <ChatPage slug={slug} key={slug} />
}

const assistants = createRoute({
  getParentRoute: () => rootRoute,
  path: '/assistants',
  component: lazy(async () => ({ default: (await import('./assistants/gallery-page.tsx')).GalleryPage })),
})

const newAssistant = createRoute({
  getParentRoute: () => rootRoute,
  path: '/assistants/new',
  component: lazy(async () => ({ default: (await import('./assistants/editor-page.tsx')).NewAssistantPage })),
})

const AssistantEditor = lazy(async () => ({ default: (await import('./assistants/editor-page.tsx')).EditorPage }))
const AssistantHistory = lazy(async () => ({ default: (await import('./assistants/history-page.tsx')).HistoryPage }))

const editedAssistant = createRoute({
  getParentRoute: () => rootRoute,
  path: '/assistants/$handle/edit',
  component: () => <AssistantEditor {...editedAssistant.useParams()} />,
})

const assistantHistory = createRoute({
  getParentRoute: () => rootRoute,
  path: '/assistants/$handle/history',
  component: () => <AssistantHistory {...assistantHistory.useParams()} />,
})

const SourcePage = lazy(async () => ({ default: (await import('./sources/source-page.tsx')).SourcePage }))

const source = createRoute({
  getParentRoute: () => rootRoute,
  path: '/sources/$address',
  component: () => <SourcePage {...source.useParams()} />,
})

const SettingsPage = lazy(async () => ({ default: (await import('./settings/settings-page.tsx')).SettingsPage }))

const settings = createRoute({
  getParentRoute: () => rootRoute,
  path: '/settings',
  beforeLoad: () => {
    throw redirect({ to: '/settings/$section', params: { section: 'profile' }, replace: true })
  },
})

const settingsSection = createRoute({
  getParentRoute: () => rootRoute,
  path: '/settings/$section',
  component: () => <SettingsPage {...settingsSection.useParams()} />,
})

const AdminPage = lazy(async () => ({ default: (await import('./admin/admin-page.tsx')).AdminPage }))

const admin = createRoute({
  getParentRoute: () => rootRoute,
  path: '/admin',
  beforeLoad: () => {
    throw redirect({ to: '/admin/$section', params: { section: 'overview' }, replace: true })
  },
})

/** The filters of a list in the administration, which each list reads for itself. */
type AdminSearch = Record<string, string | number>

const readAdminSearch = (search: AdminSearch): AdminSearch => search

const adminSection = createRoute({
  getParentRoute: () => rootRoute,
  path: '/admin/$section',
  validateSearch: readAdminSearch,
  component: () => <AdminPage {...adminSection.useParams()} />,
})

const adminRecord = createRoute({
  getParentRoute: () => rootRoute,
  path: '/admin/$section/$id',
  validateSearch: readAdminSearch,
  component: () => <AdminPage {...adminRecord.useParams()} />,
})

const areaRoutes = [
  newChat,
  importRoute,
  sharedRoute,
  chat,
  rooms,
  joinRoute,
  room,
  settings,
  settingsSection,
  source,
] as const
const assistantRoutes = [assistants, newAssistant, editedAssistant, assistantHistory] as const

export const router = createRouter({
  routeTree: rootRoute.addChildren([...areaRoutes, ...assistantRoutes, admin, adminSection, adminRecord]),
  defaultErrorComponent: PageFailure,
})

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router
  }
}
